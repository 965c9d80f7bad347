import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from cdvm import CDVM, InputError, MatrixAttribution, Program
from cdvm.valuation.explain import effects_of


@pytest.fixture(scope="module")
def fitted():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.where(y[:200] == 1, "benign", "malignant")
    labels[7] = "benign" if labels[7] == "malignant" else "malignant"  # a wrong one
    pruner = CDVM("logistic", effort="low", n_models=800, random_state=0, n_jobs=1, progress=False).fit(
        X[:200], labels
    )
    return pruner, pruner.select(20), labels


def test_a_kept_row_says_what_it_does_and_what_could_take_its_place(fitted):
    pruner, keep, labels = fitted
    row = int(keep.indices[0])
    told = pruner.explain(row, keep)
    T = pruner.attribution_.dense()
    assert told.kept
    assert told.label == labels[row]
    assert told.value == pytest.approx(T[row].mean())
    assert [x.row for x in told.helps] == np.argsort(-T[row], kind="stable")[:5].tolist()
    assert [x.influence for x in told.hurts] == pytest.approx(np.sort(T[row])[:5].tolist())
    assert told.helps[0].standard_error == pytest.approx(
        pruner.attribution_.stderr([row])[0][told.helps[0].row]
    )
    program = Program(T, 20, keep.alpha, keep.kappa)
    other, loss = told.exchanges[0]
    before, after = np.zeros(200), np.zeros(200)
    before[keep.indices] = after[keep.indices] = 1
    after[row], after[other] = 0, 1
    assert other not in keep.indices
    assert loss == pytest.approx(program.objective(before) - program.objective(after), abs=1e-4)
    assert "was kept" in str(told)
    assert "could take its place" in str(told)


def test_another_row_names_the_kept_rows_it_could_replace(fitted):
    pruner, keep, _ = fitted
    row = int(np.setdiff1d(np.arange(200), keep.indices)[0])
    told = pruner.explain(row, keep, top=3)
    assert not told.kept
    assert len(told.exchanges) == 3
    assert np.isin([other for other, _ in told.exchanges], keep.indices).all()
    assert [loss for _, loss in told.exchanges] == sorted(loss for _, loss in told.exchanges)


def test_a_wrong_label_is_suspect(fitted):
    pruner, keep, _ = fitted
    wrong, usual = pruner.explain(7, keep), pruner.explain(8, keep)
    assert wrong.right < 0.2 < usual.right
    assert wrong.p_value < 0.05 < usual.p_value
    assert "get it right" in str(wrong)


def test_rows_of_no_candidate_are_refused(fitted):
    pruner, keep, _ = fitted
    with pytest.raises(InputError, match="row=200 is not among the rows that could be kept"):
        pruner.explain(200, keep)


def test_without_models_there_are_no_standard_errors():
    X, y = load_breast_cancer(return_X_y=True)
    pruner = CDVM("ridge", attribution="similarity", random_state=0, progress=False).fit(X[:100], y[:100])
    told = pruner.explain(3)
    assert np.isnan(told.standard_error)
    assert told.right is None


def test_effects_of_several_rows_are_those_of_each(wine):
    rng = np.random.default_rng(0)
    split = wine.out_of_bag()
    matrix = rng.standard_normal((split.n_rows, split.n_rows))
    matrix[3], matrix[4] = np.abs(matrix[3]), 0.0  # one that harms none, one that does nothing
    attribution = MatrixAttribution(matrix)
    rows = np.arange(split.n_rows)
    found = effects_of(rows, split, attribution, top=2)
    assert len(found) == split.n_rows
    for row in (0, 3, 4, int(rows[-1])):
        alone = effects_of(rows[[row]], split, attribution, top=2)[0]
        assert [x.row for x in alone.helps + alone.hurts] == [
            x.row for x in found[row].helps + found[row].hurts
        ]
        order = np.argsort(matrix[row])
        assert [x.influence for x in found[row].helps] == [v for v in matrix[row][order[::-1][:2]] if v > 0]
        assert [x.influence for x in found[row].hurts] == [v for v in matrix[row][order[:2]] if v < 0]
        assert found[row].value == pytest.approx(matrix[row].mean())
    assert found[3].hurts == found[4].helps == found[4].hurts == ()
    assert effects_of(rows[:0], split, attribution) == []
