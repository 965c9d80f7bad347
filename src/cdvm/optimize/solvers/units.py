"""A program in units of its largest entry: solvers compare with absolute numbers, programs know none.

The unit is a power of two. Dividing by it rounds nothing, so weights and multipliers of either program are
those of both, and programs that differ by a power of two are solved by the same steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cdvm.attribution.base import MatrixAttribution
from cdvm.optimize.program import Program
from cdvm.optimize.reduction import ReducedProgram

__all__ = ["in_units"]

_ORDINARY = 20  # powers of two around 1 that no solver minds


def in_units(program: Program, *, always: bool = False) -> tuple[Program, int]:
    """The program with T and kappa divided by ``2**exponent``, and the exponent.

    It is returned as it is where its largest entry is near 1, unless ``always``, and where its attribution is
    no matrix: those are made of single-precision numbers, and serve methods that mind far less.

    >>> scaled, exponent = in_units(Program(np.array([[3e-9], [1e-9]]), 1, kappa=2e-9))
    >>> exponent, scaled.kappa == 2e-9 * 2**28, bool(scaled.attribution.max() == 3e-9 * 2**28)
    (-28, True, True)
    """
    if isinstance(program, ReducedProgram):
        return program, 0
    matrix: Any = getattr(program.attribution, "matrix", None)
    exponent = 0 if matrix is None else int(np.frexp(np.abs(matrix).max())[1])
    if matrix is None or (not always and abs(exponent) <= _ORDINARY):
        return program, 0
    if sparse.issparse(matrix):
        scaled: Any = sparse.csr_array(
            (np.ldexp(matrix.data, -exponent), matrix.indices, matrix.indptr), matrix.shape
        )
    else:
        scaled = np.ldexp(matrix, -exponent)
    # no evaluation row gets more than the budget times the largest entry: a larger kappa is as good
    with np.errstate(over="ignore"):
        kappa = min(float(np.ldexp(program.kappa, -exponent)), float(program.budget))
    return program.replace(attribution=MatrixAttribution(scaled), kappa=kappa), exponent
