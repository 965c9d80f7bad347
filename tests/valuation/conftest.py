import pytest
from valuation_games import blobs


@pytest.fixture(scope="session")
def split():
    return blobs()
