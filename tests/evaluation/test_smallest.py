import numpy as np
import pytest

from cdvm import CDVM, InputError, Selection
from cdvm.evaluation.curve import CurvePoint
from cdvm.evaluation.metrics import make_metric
from cdvm.evaluation.smallest import smallest_set


def test_the_smallest_set_is_within_what_may_be_lost(pruner):
    found = pruner.smallest(within=0.05, folds=2, least=0.2)
    assert found.point.fraction == pytest.approx(found.selection.retained, abs=1e-3)
    assert found.point.loss + 1.2816 * found.point.loss_error <= 0.05
    assert "are within 5 points of all rows with confidence 90%" in str(found)
    assert len(found.selection) < 350


def test_a_score_to_reach(pruner):
    found = pruner.smallest(at_score=0.65, folds=2, least=0.2)
    assert found.point.score - 1.2816 * found.point.score_error >= 0.65
    assert "reach a accuracy of 0.65" not in str(found)
    assert "reach an accuracy of 0.65 with confidence 90%" in str(found)
    none = pruner.smallest(at_score=0.99, folds=2)
    assert none.selection is None
    assert len(none.curve.points) == 1
    assert "no set of at most 80% of the rows is known to reach an accuracy of 0.99" in str(none)


def test_conditions_hold_for_the_smallest_set_and_in_every_fold(pruner):
    group = np.where(np.arange(600) < 100, "few", "many")
    found = pruner.smallest(within=0.3, folds=2, least=0.6, groups=group, at_least={"few": 95})
    assert (found.selection.indices < 100).sum() >= 95
    # 300 rows do not fit into fewer: the walk ends there, whatever may be lost
    kept = pruner.smallest(within=0.5, folds=2, keep=np.arange(300))
    assert np.isin(np.arange(300), kept.selection.indices).all()
    assert len(kept.selection) == 384  # a fold has more than half of them
    with pytest.raises(InputError, match="costs= is for select"):
        pruner.smallest(costs=np.ones(600))
    with pytest.raises(InputError, match="cannot be met by 80% of the rows"):
        pruner.smallest(keep=np.arange(500), folds=2)


class Steps:
    """Points as told, in the place of a fit."""

    metric = make_metric("accuracy")

    def __init__(self, losses, error=0.001):
        self.losses, self.error = iter(losses), error

    def point(self, fraction):
        loss = next(self.losses)
        return CurvePoint(fraction, 0.9 - loss, 0.8, 0.9, loss, 0.002, 0.002, 0.002, self.error, 1000)


def chosen(fraction):
    n = round(1000 * fraction)
    return Selection(np.arange(n), 1000, np.arange(1000), np.ones(1000), "some", 0.0)


def test_the_walk_ends_at_the_first_budget_that_fails():
    # the fourth would be good again, and is not looked at
    found = smallest_set(Steps([0.0, 0.005, 0.02, 0.0]), chosen, within=0.01, progress=False)
    assert found.selection.retained == pytest.approx(0.64)
    assert len(found.curve.points) == 3
    assert found.point is found.curve.points[1]
    none = smallest_set(Steps([0.05]), chosen, within=0.01, progress=False)
    assert none.selection is None
    assert "no set of at most 80% of the rows is known to be within 1 points" in str(none)


def test_the_walk_to_a_score_goes_as_far_as_it_is_reached():
    # 0.9, 0.895, 0.88, less 1.2816 · 0.002 each
    found = smallest_set(Steps([0.0, 0.005, 0.02]), chosen, at_score=0.89, progress=False)
    assert found.selection.retained == pytest.approx(0.64)
    assert (found.within, found.at_score) == (None, 0.89)
    assert "reach an accuracy of 0.89 with confidence 90%" in str(found)
    assert "reach 0.8950 ± 0.0020, all rows 0.9000 (accuracy)" in str(found)
    surer = smallest_set(Steps([0.0, 0.005]), chosen, at_score=0.89, confidence=0.999, progress=False)
    assert surer.selection.retained == pytest.approx(0.8)  # 3.09 · 0.002 is too much for the second
    none = smallest_set(Steps([0.0]), chosen, at_score=0.899, progress=False)
    assert none.selection is None


def test_budgets_end_at_the_least_and_where_nothing_is_possible():
    found = smallest_set(Steps([0.0] * 9), chosen, within=0.01, least=0.4, progress=False)
    assert [point.fraction for point in found.curve.points] == [0.8, 0.64, 0.512, 0.4096]
    cut = smallest_set(Steps([0.0] * 9), chosen, within=0.01, possible=lambda f: f > 0.6, progress=False)
    assert [point.fraction for point in cut.curve.points] == [0.8, 0.64]
    assert cut.selection.retained == pytest.approx(0.64)
    with pytest.raises(InputError, match="cannot be met by 80% of the rows"):
        smallest_set(Steps([]), chosen, within=0.01, possible=lambda f: False, progress=False)


def test_a_loss_too_small_to_see_says_how_many_rows_it_takes():
    with pytest.raises(InputError, match=r"within=0.001 cannot be told with 1000 rows.*about 33,2\d\d"):
        smallest_set(Steps([0.0], error=0.0045), chosen, within=0.001, progress=False)


def test_that_nothing_changed_on_few_rows_is_no_promise():
    X = np.r_[np.zeros((30, 1)), np.ones((30, 1))]
    pruner = CDVM("ridge", n_models=100, random_state=0, n_jobs=1, progress=False)
    pruner.fit(X + 0.01 * np.arange(60)[:, None] / 60, np.repeat([0, 1], 30))
    with pytest.raises(InputError, match=r"within=0.01 cannot be told with 60 rows.*0.0000 ± 0.0\d+.* about"):
        pruner.smallest(0.01, folds=3)


def test_what_cannot_be_is_refused(pruner):
    for given, words in [
        ({"within": 0}, "within=0"),
        ({"within": 0.01, "at_score": 0.9}, "within=0.01 is measured from all rows and at_score=0.9"),
        ({"confidence": 1}, "confidence=1"),
        ({"folds": 1}, "folds=1"),
        ({"least": 0}, "least=0"),
    ]:
        with pytest.raises(InputError, match=words):
            pruner.smallest(**given)
