import matplotlib as mpl
import pytest
from benchmark_frames import run

mpl.use("Agg")


@pytest.fixture(scope="session")
def frame():
    return run(("pol", "nomao"), 2)
