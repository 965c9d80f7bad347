import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score

from cdvm import CDVM, InputError
from cdvm.learners import make_learner
from cdvm.pruner.smallest import CurvePoint, cross_fit, smallest_set


@pytest.fixture(scope="module")
def pruner():
    X, y = make_classification(1200, 8, n_informative=4, class_sep=1.5, flip_y=0.02, random_state=0)
    settings = {"n_models": 200, "random_state": 0, "n_jobs": 1, "progress": False}
    return CDVM("ridge", **settings).fit(X, y)


class Fixed:
    """A pruner that keeps the first rows, and remembers what it was fitted on."""

    def __init__(self, split):
        self.split_, self.learner_ = split, make_learner("ridge")

    def select(self, budget):
        from cdvm import Selection

        return Selection.of_rows(self.split_, np.arange(budget), method="first", seconds=0.0)


def test_every_row_is_asked_once_by_what_was_fitted_without_it(pruner):
    split, seen = pruner.split_, []

    def fit(inner):
        seen.append(inner)
        return Fixed(inner)

    fitted = cross_fit(split, pruner.learner_, fit, folds=4, n_jobs=1, progress=False)
    rows = {tuple(row) for row in split.X}
    asked = [tuple(row) for fold in fitted.folds for row in fold.X]
    assert len(asked) == len(set(asked)) == len(rows) == 1200
    for fold, inner in zip(fitted.folds, seen, strict=True):
        assert not {tuple(row) for row in fold.X} & {tuple(row) for row in inner.X}
        assert inner.X_val is None
        assert abs(np.mean(fold.y) - split.y.mean()) < 0.01
    point = fitted.point(0.1)
    scores, alls = [], []
    for fold, inner in zip(fitted.folds, seen, strict=True):
        some = pruner.learner_.bind(inner, fold.X)
        from cdvm import Subsets

        sets = [np.arange(round(0.1 * inner.n_rows)), np.arange(inner.n_rows)]
        answers = some.predict(Subsets.of(sets, inner.n_rows))
        scores.append(accuracy_score(fold.y, answers[0]))
        alls.append(accuracy_score(fold.y, answers[1]))
    assert point.score == pytest.approx(np.mean(scores))
    assert point.all_rows == pytest.approx(np.mean(alls))
    assert point.loss == pytest.approx(point.all_rows - point.score)
    assert point.n_rows == 1200


def test_a_curve_has_a_line_for_each_budget(pruner):
    frame = pruner.curve([0.05, 0.5], folds=3).to_frame()
    assert frame["fraction"].tolist() == [0.5, 0.05]
    assert frame["score"].between(0.65, 0.8).all()
    assert frame["standard_error"].between(1e-4, 0.05).all()


def test_the_smallest_set_is_within_what_may_be_lost(pruner):
    found = pruner.smallest(within=0.03, folds=3, least=0.05)
    assert found.selection is not None
    chosen = next(
        p for p in found.curve.points if p.fraction == pytest.approx(found.selection.retained, abs=1e-3)
    )
    assert chosen.loss + 1.2816 * chosen.standard_error <= 0.03
    assert "are within 3 points of all rows with confidence 90%" in str(found)
    assert len(found.selection) < 600


class Steps:
    """Points as told, in the place of a fit."""

    def __init__(self, losses, error=0.001):
        self.losses, self.error = iter(losses), error

    def point(self, fraction):
        loss = next(self.losses)
        return CurvePoint(fraction, 0.9 - loss, 0.8, 0.9, loss, self.error, 0.02, 1000)


def test_the_walk_ends_at_the_first_budget_that_fails():
    # the fourth would be good again, and is not looked at
    found = smallest_set(Steps([0.0, 0.005, 0.02, 0.0]), lambda f: f, within=0.01, progress=False)
    assert found.selection == pytest.approx(0.64)
    assert len(found.curve.points) == 3
    none = smallest_set(Steps([0.05]), lambda f: f, within=0.01, progress=False)
    assert none.selection is None
    assert "no set of at most 80 % of the rows is known to lose no more than 1 points" in str(none)


def test_a_loss_too_small_to_see_says_how_many_rows_it_takes():
    with pytest.raises(InputError, match=r"within=0.001 cannot be told with 1000 rows.*about 32,8\d\d"):
        smallest_set(Steps([0.0], error=0.0045), lambda f: f, within=0.001, progress=False)


def test_what_cannot_be_is_refused(pruner):
    for given, words in [
        ({"within": 0}, "within=0"),
        ({"confidence": 1}, "confidence=1"),
        ({"folds": 1}, "folds=1"),
    ]:
        with pytest.raises(InputError, match=words):
            pruner.smallest(**given)
