import numpy as np
import pytest
from sklearn.datasets import load_wine

from cdvm import CDVM

FAST = ["--target", "label", "--learner", "ridge", "--models", "200", "--jobs", "1"]


@pytest.fixture(scope="module")
def rows():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, np.array(["red", "white", "pink"])[y]


@pytest.fixture(scope="module")
def csv(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "wine.csv"
    rows[0].assign(label=rows[1], region=np.arange(178) % 2).to_csv(path, index=False)
    return path


def test_it_says_what_python_says(rows, csv, command, tmp_path):
    given = ["--keep", "10%", "--keep-if", "region == 1 and alcohol > 14", "--ignore", "region"]
    store = ["--store", tmp_path / "runs"]
    code, out, err = command("explain", csv, *FAST, *given, *store, "--row", 3, "--row", 100, "--top", 2)
    assert code == 0, err
    pruner = CDVM("ridge", effort="low", n_models=200, random_state=0, n_jobs=1, progress=False).fit(*rows)
    must = (np.arange(178) % 2 == 1) & (rows[0]["alcohol"] > 14)
    keep = pruner.select(0.1, keep=must.to_numpy())
    assert out.strip() == "\n\n".join(str(pruner.explain(row, keep, top=2)) for row in (3, 100))
    again = command("explain", csv, *FAST, *given, *store, "--row", 3, "--row", 100, "--top", 2)
    assert again[1] == out


def test_rows_are_explained_beside_those_that_prune_keeps(rows, csv, command):
    given = ["--keep", "10%", "--ignore", "region", "--effort", "low", "--row", 3]
    code, out, err = command("explain", csv, *FAST, *given)
    assert code == 0, err
    pruner = CDVM("ridge", effort="low", n_models=200, random_state=0, n_jobs=1, progress=False).fit(*rows)
    assert out.strip() == str(pruner.explain(3, pruner.select(0.1)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "--row is missing"),
        (["--row", "178"], "--row 178 is no row that could be kept"),
        (["--row", "3", "--keep", "5%,10%"], "--keep names 2 sets: explain beside one"),
    ],
)
def test_what_cannot_be_is_refused(csv, command, given, words):
    code, _, err = command("explain", csv, *FAST, *given)
    assert code == 2
    assert words in err
