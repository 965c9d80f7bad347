import pytest
from valuation_games import blobs

collect_ignore = ["fixtures/make_pydvl.py"]  # imports pyDVL, which lives in another environment


@pytest.fixture(scope="session")
def split():
    return blobs()
