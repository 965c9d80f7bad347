import pytest
from cluster_cases import Processes
from sklearn.tree import DecisionTreeClassifier

from cdvm import Design, SklearnLearner


@pytest.fixture
def processes(tmp_path):
    directory = tmp_path / "cluster"
    directory.mkdir()
    started = []

    def start(**environment):
        started.append(Processes(directory, **environment))
        return started[-1]

    yield start
    for cluster in started:
        cluster.stop()


@pytest.fixture(scope="module")
def tree():
    return SklearnLearner(DecisionTreeClassifier(splitter="random"))  # random, seeded by the model's number


@pytest.fixture(scope="module")
def design(wine):
    return Design(wine.n_rows, 0.1, seed=1)
