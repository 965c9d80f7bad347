import warnings

import numpy as np
import pytest
from scipy import sparse

from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.optimize.conditions import Conditions
from cdvm.optimize.program import Program
from cdvm.optimize.reduction import reduce_program
from cdvm.optimize.solvers.units import in_units


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("power", [-40, -21, -20, 0, 20, 21, 60])
def test_units_are_powers_of_two_and_change_no_digit(as_matrix, power):
    matrix = np.array([[0.75, -0.3, 0.0, 0.0], [0.1, 0.0, -0.9, 0.0], [0.0, 0.0, 0.0, 0.0]])
    program = Program(as_matrix(np.ldexp(matrix, power)), 1, 0.3, kappa=np.ldexp(0.7, power))
    for always in (False, True):
        scaled, exponent = in_units(program, always=always)
        assert exponent == (power if always or abs(power) > 20 else 0)
        assert (np.ldexp(scaled.attribution.dense(), exponent) == np.ldexp(matrix, power)).all()
        assert np.ldexp(scaled.kappa, exponent) == program.kappa
        assert (scaled.budget, scaled.alpha, scaled.n_evaluation) == (1, 0.3, 4)


def test_a_cap_that_cannot_bind_is_brought_within_reach_of_the_units():
    program = Program(np.full((3, 2), 1e-30), 2, kappa=1e290)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that it is beyond all numbers in these units is no news
        scaled, _ = in_units(program)
    assert scaled.kappa == 2.0
    assert scaled.objective(np.ones(3)) > 0


def test_a_program_with_limits_has_units_of_its_own():
    conditions = Conditions.of(3, groups=list("aab"), at_most={"a": 1})
    reduced = reduce_program(Program(np.full((3, 2), 1e-30), 2, conditions=conditions)).program
    assert in_units(reduced) == (reduced, 0)
    assert in_units(reduced, always=True) == (reduced, 0)


def test_what_is_near_one_or_no_matrix_stays_as_it_is(rng):
    plain = Program(np.eye(3), 1)
    assert in_units(plain) == (plain, 0)
    models = ImplicitAttribution((rng.random((20, 6)) < 0.3).astype(float), 1e-30 * rng.random((20, 2)))
    implicit = Program(models, 2)
    assert in_units(implicit, always=True) == (implicit, 0)
