"""Random programs with all their ties and extremes, at any scale: every method against HiGHS.

``CDVM_FUZZ`` sets the number of programs; the suite tries few.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from solver_cases import KINDS, assert_feasible, brute_force

from cdvm import InputError
from cdvm.optimize.program import Program
from cdvm.optimize.solvers.dispatch import solve

EXAMPLES = int(os.environ.get("CDVM_FUZZ", "30"))
TOLERANCES = {"interior_point": 1e-8, "first_order": 1e-2, "column_generation": 1e-6, "highs": 1e-6}
FUZZED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.reuse, Phase.generate],  # a smaller matrix explains nothing and takes minutes to find
)


def constant(rng, n, m):
    return np.full((n, m), rng.choice([-0.3, 0.0, 0.3]))


def balanced(rng, n, m):
    """Rows that add nothing over all evaluation rows together, but for rounding."""
    matrix = KINDS["random"](rng, n, m)
    return matrix - matrix.mean(axis=1, keepdims=True)


def holes(rng, n, m):
    """Rows and evaluation rows without any attribution."""
    matrix = KINDS["random"](rng, n, m)
    matrix[rng.random(n) < 0.4] = 0.0
    matrix[:, rng.random(m) < 0.4] = 0.0
    return matrix


def uneven(rng, n, m):
    """Evaluation rows whose entries differ by six orders of magnitude."""
    return KINDS["random"](rng, n, m) * 10.0 ** rng.uniform(-6, 0, m)


ALL = KINDS | {"constant": constant, "balanced": balanced, "holes": holes, "uneven": uneven}


@st.composite
def any_program(draw, rows=25, evaluation=12):
    n, m = draw(st.integers(1, rows)), draw(st.integers(1, evaluation))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = ALL[draw(st.sampled_from(sorted(ALL)))](rng, n, m)
    if draw(st.booleans()):
        matrix = matrix[rng.integers(0, n, n)]
    budget = draw(st.one_of(st.just(1), st.just(n), st.integers(1, n)))
    alpha = draw(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0)))
    unit = 10.0 ** draw(st.one_of(st.just(0), st.integers(-10, 10), st.sampled_from([-280, 280])))
    kappa = draw(st.one_of(st.just("auto"), st.sampled_from([0.0, 1e-3, 0.1, 1.0, 1e6, 1e12])))
    return Program(matrix * unit, budget, alpha, kappa if kappa == "auto" else kappa * unit)


def measure(program):
    """What a difference of objectives is small against."""
    return max(program._scale, program.budget * float(np.abs(program.attribution.dense()).max()))


def claims(solution, program, method):
    """Whether a solution is said to be optimal, as all must be; a tiny alpha may be too much for some.

    So may an exact program whose best set wins less than a million times what HiGHS' tolerance allows.
    """
    optimal = solution.status == "optimal"
    little = abs(solution.objective) < 2e-3 * np.abs(program.attribution.dense()).max() * program.n_evaluation
    assert (
        optimal
        or (method in ("highs", "milp", "first_order") and program.alpha < 1e-3)
        or (method == "milp" and little)
    ), method
    return optimal


@given(any_program())
@FUZZED
def test_all_methods_agree_and_prove_what_they_say(program):
    found = {method: solve(program, method) for method in TOLERANCES}
    best = max(solution.objective for solution in found.values())
    slack = 1e-9 * measure(program)
    for method, solution in found.items():
        assert_feasible(program, solution)
        assert solution.bound >= best - slack, method
        assert program.objective(solution.weights) == pytest.approx(solution.objective, rel=1e-12, abs=slack)
        if claims(solution, program, method):
            assert solution.gap <= 1.01 * TOLERANCES[method], method


@given(any_program(rows=9, evaluation=5))
@FUZZED
def test_whole_weights_are_the_best_of_all_sets(program):
    solution, best = solve(program, "milp", gap=0.0), brute_force(program)
    slack = 1e-6 * measure(program)
    assert set(solution.weights) <= {0.0, 1.0}
    assert solution.weights.sum() == program.budget
    assert best - slack <= solution.objective <= best + slack
    assert best - slack <= solution.bound
    claims(solution, program, "milp")


@pytest.mark.parametrize("method", [*TOLERANCES, "milp"])
def test_scale_changes_nothing_but_the_scale(method):
    """Twenty decades and the ends of what a number can be; powers of two keep every bit."""
    base = Program(KINDS["random"](np.random.default_rng(3), 40, 12), 6, kappa=0.3)

    def scaled(unit):
        return solve(base.replace(attribution=base.attribution.dense() * unit, kappa=0.3 * unit), method)

    plain, reference = solve(base, method), scaled(2.0**30)
    for exponent in (-1000, -33, 24, 980):
        unit, found = 2.0**exponent, scaled(2.0**exponent)
        assert (found.weights == reference.weights).all(), exponent
        assert (found.objective, found.bound) == (
            reference.objective / 2**30 * unit,
            reference.bound / 2**30 * unit,
        )
        assert (found.status, found.gap) == ("optimal", reference.gap)
    for exponent in range(-10, 11):
        unit, found = 10.0**exponent, scaled(10.0**exponent)
        assert found.objective == pytest.approx(plain.objective * unit, rel=2 * TOLERANCES.get(method, 1e-4))
        assert found.bound >= plain.objective * unit * (1 - 1e-9)
        if method in ("interior_point", "milp"):  # the others may end at any of several optima
            assert found.weights == pytest.approx(plain.weights, abs=1e-4), exponent


@pytest.mark.parametrize("method", [*TOLERANCES, "milp"])
def test_numbers_whose_sums_overflow_are_refused(method):
    with pytest.raises(InputError, match=r"entries of 1e\+308, whose sums overflow: divide it"):
        solve(Program(np.full((3, 2), 1e308), 1), method)
    huge = Program(np.array([[1e299, 1e298], [1e298, 1e299], [1e-300, 0.0]]), 2, kappa=1e308)
    assert solve(huge, method).objective == pytest.approx(1.1e299)
