"""The linear system of an interior-point step, reduced to one Cholesky factorisation.

With positive diagonals *D* (rows) and *E* (evaluation rows), each step solves::

    | D⁻¹  T   1 | | dw |   | a |
    | Tᵀ  −E   0 | | dλ | = | b |
    | 1ᵀ   0   0 | | dη |   | c |

:class:`EvaluationSystem` eliminates the rows: with T centred at its D-weighted mean row the budget drops
out, and TcᵀDTc + E (evaluation rows × evaluation rows) remains. :class:`RowSystem` eliminates the evaluation
rows: T E⁻¹Tᵀ + D⁻¹ (rows × rows) remains, made definite in the direction of the budget by adding ρ11ᵀ, which
the budget makes known.

Close to a solution few rows (evaluation rows) have a D (E⁻¹) that counts. Only these enter the factor;
conjugate gradients with the factor as preconditioner make up for the others. They also make up for a factor
in single precision, which takes half the time and serves as long as the system is well conditioned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

__all__ = ["EvaluationSystem", "NewtonSystem", "RowSystem", "newton_system"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Rough = NDArray[np.float32] | NDArray[np.float64]
Step = tuple[Vector, Vector, float]

_NEGLIGIBLE = (
    1e-7  # a row (evaluation row) whose fraction of the largest one is below this stays out of the factor
)
_CG_STEPS = 12
_CHUNK = 1024  # rows (evaluation rows) scaled at a time, so no second T is ever held


class NewtonSystem(ABC):
    """A factorised step system, solved to a largest residual of ``accuracy``.

    ``rough`` is the matrix as it enters the factor, in single or double precision. ``steps`` counts the
    steps of conjugate gradients taken so far, ``solves`` the systems solved.
    """

    def __init__(
        self, matrix: Matrix, rough: Rough, d: Vector, e: Vector, norms: Vector, accuracy: float
    ) -> None:
        self.matrix, self.rough, self.d, self.e, self.accuracy = matrix, rough, d, e, accuracy
        # products and factors go through NumPy: it lets other threads run meanwhile, SciPy's routines do not
        self._potrs = get_lapack_funcs("potrs", (rough,))
        self.steps = self.solves = 0
        self._prepare(norms)

    @abstractmethod
    def _prepare(self, norms: Vector) -> None: ...

    @abstractmethod
    def _multiply(self, x: Vector) -> Vector:
        """The reduced matrix times x, with nothing left out."""

    @abstractmethod
    def solve(self, a: Vector, b: Vector, c: float) -> Step:
        """dw, dλ and dη for one right-hand side."""

    def _factorise(self, kernel: Rough, diagonal: Vector) -> None:
        where = np.diag_indices(len(diagonal))
        plain = kernel[where] + diagonal
        for nudge in (50, 5e4, 5e7) if kernel.dtype == np.float64 else (2,):
            kernel[where] = plain + nudge * np.finfo(kernel.dtype).eps * plain.max()
            with suppress(np.linalg.LinAlgError):
                self.factor = np.linalg.cholesky(kernel)
                return
        raise FloatingPointError("the step system is not positive definite")

    def _precondition(self, x: Vector) -> Vector:
        solved = self._potrs(self.factor.T, x.astype(self.factor.dtype, copy=False), lower=0)[0]
        return np.asarray(solved, dtype=np.float64)

    def _reduced_solve(self, rhs: Vector) -> Vector:
        self.solves += 1
        x = self._precondition(rhs)
        residual = rhs - self._multiply(x)
        p, last = np.zeros_like(rhs), 1.0
        for _ in range(_CG_STEPS):
            if np.abs(residual).max() <= self.accuracy:
                break
            self.steps += 1
            z = self._precondition(residual)
            product = float(residual @ z)
            p, last = z + (product / last) * p, product
            image = self._multiply(p)
            length = product / float(p @ image)
            x, residual = x + length * p, residual - length * image
        return x

    def _counting(self, fraction: Vector) -> NDArray[np.intp]:
        """Indices that enter the factor; all of them when nearly all would."""
        keep = np.flatnonzero(fraction > _NEGLIGIBLE * fraction.max())
        return keep if len(keep) < 0.9 * len(fraction) else np.arange(len(fraction))


class EvaluationSystem(NewtonSystem):
    """Factorises (evaluation rows)²: the choice where there are no more of them than rows."""

    def _prepare(self, norms: Vector) -> None:
        self.total = float(self.d.sum())
        self.mean = (self.d @ self.matrix) / self.total
        keep = self._counting(self.d * norms)
        kernel = np.zeros((len(self.e), len(self.e)), self.rough.dtype)
        mean, root = self.mean.astype(kernel.dtype), np.sqrt(self.d).astype(kernel.dtype)
        for start in range(0, len(keep), _CHUNK):
            rows = keep[start : start + _CHUNK]
            scaled = self.rough[rows]
            scaled -= mean
            scaled *= root[rows, None]
            kernel += scaled.T @ scaled
        self._factorise(kernel, self.e)

    def _multiply(self, x: Vector) -> Vector:
        y = self.d * (self.matrix @ x - self.mean @ x)
        image: Vector = y @ self.matrix - y.sum() * self.mean + self.e * x
        return image

    def solve(self, a: Vector, b: Vector, c: float) -> Step:
        shift = (float(self.d @ a) - c) / self.total
        centred = a - shift
        dual = self._reduced_solve((self.d * centred) @ self.matrix - b)
        offset = float(self.mean @ dual)
        # the budget holds exactly whatever the accuracy of ``dual``
        return self.d * (centred - (self.matrix @ dual - offset)), dual, shift - offset


class RowSystem(NewtonSystem):
    """Factorises rows × rows: the choice when there are fewer rows than evaluation rows."""

    def _prepare(self, norms: Vector) -> None:
        inverse = 1.0 / self.e
        keep = self._counting(inverse * norms)
        kernel = np.zeros((len(self.d), len(self.d)), self.rough.dtype)
        root = np.sqrt(inverse).astype(kernel.dtype)
        for start in range(0, len(keep), _CHUNK):
            evaluation = keep[start : start + _CHUNK]
            scaled = self.rough[:, evaluation] * root[evaluation]
            kernel += scaled @ scaled.T
        self.rho = float(np.trace(kernel)) / len(self.d) or 1.0
        kernel += self.rho
        self._factorise(kernel, 1.0 / self.d)
        self.ones = self._reduced_solve(np.ones(len(self.d)))

    def _multiply(self, x: Vector) -> Vector:
        image: Vector = self.matrix @ ((x @ self.matrix) / self.e) + x / self.d + self.rho * x.sum()
        return image

    def solve(self, a: Vector, b: Vector, c: float) -> Step:
        free = self._reduced_solve(a + self.matrix @ (b / self.e) + self.rho * c)
        multiplier = float((free.sum() - c) / self.ones.sum())
        primal = free - multiplier * self.ones
        return primal, (primal @ self.matrix - b) / self.e, multiplier


def newton_system(
    matrix: Matrix, rough: Rough, d: Vector, e: Vector, norms: tuple[Vector, Vector], accuracy: float
) -> NewtonSystem:
    """The smaller of the two reductions; ``norms`` are T's squared row and column norms."""
    if matrix.shape[0] >= matrix.shape[1]:
        return EvaluationSystem(matrix, rough, d, e, norms[0], accuracy)
    return RowSystem(matrix, rough, d, e, norms[1], accuracy)
