import inspect

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from cdvm import CDVM, InputError
from cdvm.attribution.base import Attribution
from cdvm.evaluation.scoring import score_sets
from cdvm.optimize.path import solve_path
from cdvm.pruner import by_budget
from cdvm.pruner.settings import GRID_ALPHAS, GRID_KAPPAS


def test_swaps_never_lower_the_objective(table, pruner):
    plain = clone(pruner).set_params(rounding="top").fit(*table)
    for budget in (5, 20, 60):
        top, swapped = plain.select(budget), pruner.select(budget)
        assert swapped.objective >= top.objective - 1e-12
        assert swapped.bound == pytest.approx(top.bound)


def test_each_budget_is_solved_anew(pruner):
    small, large = pruner.select([0.1, 0.3])
    assert (len(small), len(large)) == (18, 53)
    assert pruner.select(0.1).indices.tolist() == small.indices.tolist()
    assert small.kappa != large.kappa


def test_grid_chooses_the_pair_best_on_the_validation_rows(table):
    settings = {"n_models": 150, "n_jobs": 1, "random_state": 0, "tune": "grid", "validation": "holdout"}
    pruner = CDVM("naive_bayes", **settings).fit(*table)
    keep = pruner.select(12)
    assert keep.alpha in GRID_ALPHAS
    assert keep.kappa in GRID_KAPPAS
    split = pruner.split_

    def accuracy(rows):
        return GaussianNB().fit(split.X[rows], split.y[rows]).score(split.X_val, split.y_val)

    assert keep.score == pytest.approx(accuracy(keep.rows))
    others = clone(pruner).set_params(tune=None)
    for alpha in GRID_ALPHAS:
        plain = clone(others).set_params(alpha=alpha, kappa=0.5).fit(*table).select(12)
        assert plain.score is None
        assert accuracy(plain.rows) <= keep.score + 1e-12


def test_without_validation_rows_the_grid_is_scored_outside_each_set(table, pruner, monkeypatch):
    monkeypatch.setattr(by_budget, "_TUNING", 1e-8)  # as closely as the programs compared with below
    tuned = clone(pruner).set_params(tune="grid").fit(*table)
    keep = tuned.select(12)
    grid = [
        clone(pruner)
        .set_params(alpha=a, kappa=k)
        .fit_outcomes(pruner.split_, pruner.outcomes_)
        .select(12)
        .rows
        for a in GRID_ALPHAS
        for k in GRID_KAPPAS
    ]
    distinct = list({rows.tobytes(): rows for rows in grid}.values())
    scores = score_sets(tuned.split_, tuned.learner_, distinct, n_jobs=1)
    assert keep.score == pytest.approx(scores.max())
    assert keep.rows.tolist() == distinct[int(scores.argmax())].tolist()
    assert tuned.select(1.0).score is None


def test_programs_of_the_grid_are_solved_roughly_and_the_chosen_one_closely(table, pruner, monkeypatch):
    asked = []

    def noting(program, *args, **options):
        asked.append(options.get("tolerance"))
        return solve_path(program, *args, **options)

    monkeypatch.setattr(by_budget, "solve_path", noting)
    keep = clone(pruner).set_params(tune="grid").fit_outcomes(pruner.split_, pruner.outcomes_).select(12)
    alone = clone(pruner).set_params(alpha=keep.alpha, kappa=keep.kappa)
    alone = alone.fit_outcomes(pruner.split_, pruner.outcomes_).select(12)
    assert asked == [by_budget._TUNING, None]
    assert keep.rows.tolist() == alone.rows.tolist()
    assert keep.bound == alone.bound
    assert keep.score is not None


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 0.0},
        {"kappa": 0.01},
        {"budget": 20},
        {"rounding": "top"},
        {"solver": "first_order"},
        {"tune": "grid"},
        {"refine": 200},
        {"refine": {"fits": 200}},
    ],
)
def test_the_rows_kept_follow_every_setting(table, pruner, change):
    settings = {"alpha": 0.9, "kappa": "auto", "budget": 0.05}
    if "tune" in change:
        settings = {"budget": 0.05}
    changed = clone(pruner).set_params(**settings).fit_outcomes(pruner.split_, pruner.outcomes_)
    before = changed.sample_indices_
    assert changed.sample_indices_ is before  # chosen once
    changed.set_params(**change)
    expected = (
        clone(pruner)
        .set_params(**(settings | change))
        .fit_outcomes(pruner.split_, pruner.outcomes_)
        .select()
        .indices
    )
    assert changed.sample_indices_.tolist() == expected.tolist()


def test_a_dict_of_options_changed_in_place_is_noticed(pruner):
    options = {"fits": 100}
    own = clone(pruner).set_params(refine=options, budget=8)
    own.refine = options
    own.fit_outcomes(pruner.split_, pruner.outcomes_)
    first = own.sample_indices_
    options["metric"] = "balanced_accuracy"
    assert own.sample_indices_ is not first


def test_settings_changed_after_fit_are_checked(pruner):
    fitted = clone(pruner).fit_outcomes(pruner.split_, pruner.outcomes_).set_params(alpha=7)
    with pytest.raises(InputError, match="alpha=7"):
        fitted.select(5)


def test_a_display_never_computes(pruner):
    class NoTable(Attribution):  # any product with T, and so any program, would say so
        shape = pruner.attribution_.shape

        def __getattribute__(self, name):
            if name in ("matvec", "rmatvec", "dense", "row_sums", "rows", "columns", "max"):
                raise AssertionError("a display computed")
            return super().__getattribute__(name)

    NoTable.__abstractmethods__ = frozenset()
    shown = clone(pruner).fit_outcomes(pruner.split_, pruner.outcomes_)
    shown.attribution_ = NoTable()
    with pytest.raises(AssertionError, match="a display computed"):
        _ = shown.sample_indices_
    assert "CDVM" in shown._repr_html_()
    assert "CDVM" in repr(shown._repr_mimebundle_())
    assert "CDVM" in repr(shown)
    assert "sample_indices_" not in dir(shown)
    assert "sample_indices_" not in dict(inspect.getmembers(shown))
    assert "select" in dir(shown)


def test_a_display_shows_rows_that_are_known(pruner):
    shown = clone(pruner).fit_outcomes(pruner.split_, pruner.outcomes_)
    _ = shown.sample_indices_
    assert "sample_indices_" in dir(shown)
    assert "sample_indices_" in shown._repr_html_()


@pytest.mark.parametrize("budget", [0, -1, 1000, 0.0, 1.5, "5%", None.__class__])
def test_budgets_that_cannot_be_met(pruner, budget):
    with pytest.raises(InputError, match="budget"):
        pruner.select(budget)


def test_select_before_fit():
    with pytest.raises(NotFittedError):
        CDVM().select(5)
