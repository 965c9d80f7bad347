"""Windows of difficulty: the hardest rows left out, the next hardest kept, and a part at random.

Where labels are clean and rows are many, easy rows teach a model nothing that it does not learn from others,
and the hardest ones are the best to keep; where labels are wrong these are the worst. How many of the hardest
rows to leave out, and how much of the budget to fill with the next hardest, depends on the table, the model
and the budget. The rows that such a set leaves out cannot tell: on easy ones everybody is right.

So windows are compared by cross-fitting: what is hard is found without a fold of the rows
(:func:`cdvm.evaluation.difficulty.ease_without_folds`), rows are chosen from the others, and the models are
asked about the fold, which no choice has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm._runtime.progress import Progress
from cdvm.data.split import Split
from cdvm.evaluation.difficulty import ease_of_rows, ease_without_folds
from cdvm.evaluation.refinement.scorer import HeldOutScorer, Rows
from cdvm.learners import Learner

__all__ = ["WINDOWS", "Difficulty", "Window", "choose_window", "find_difficulty"]

Vector = NDArray[np.float64]

_FOLDS = 4
_DRAWS = 2  # of a window, for each fold


@dataclass(frozen=True, eq=False)
class Difficulty:
    """How hard the training rows are, by models that did not see them.

    Attributes
    ----------
    ease : ndarray of shape (n_rows,)
    folds : ndarray of shape (n_rows,)
        The fold that each row is in.
    without : ndarray of shape (n_folds, n_rows)
        Ease by models that saw no row of the fold.
    """

    ease: Vector
    folds: Rows
    without: Vector


def find_difficulty(
    split: Split, learner: Learner, *, seed: int = 0, n_jobs: int | None = -1, progress: bool | None = None
) -> Difficulty:
    """Ask models of random halves, of all rows and of those outside each fold."""
    own: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs, "progress": progress}
    folds = np.random.default_rng([seed, 5]).permutation(split.n_rows) % _FOLDS
    return Difficulty(
        ease_of_rows(split, learner, **own), folds, ease_without_folds(split, learner, folds, **own)
    )


@dataclass(frozen=True)
class Window:
    """Which rows to keep, by how hard they are.

    Attributes
    ----------
    dropped : float or None
        Fraction of the rows that are left out, hardest first; None for those that are usually wrong.
    hard : float
        Fraction of the budget for the hardest of the others; the rest is drawn from what is left of them.
    """

    dropped: float | None
    hard: float

    def draw(self, ease: Vector, size: int, rng: np.random.Generator) -> Rows:
        """A set of ``size`` rows.

        >>> ease = np.array([-1.0, 0.1, 0.2, 0.3, 0.9])
        >>> Window(None, 1.0).draw(ease, 2, np.random.default_rng(0))
        array([1, 2])
        """
        order = np.argsort(ease, kind="stable")
        dropped = int((ease < 0).sum()) if self.dropped is None else int(self.dropped * len(ease))
        order = order[min(dropped, len(ease) - size) :]
        hard = int(self.hard * size)
        others = rng.choice(order[hard:], size - hard, replace=False)
        return np.sort(np.concatenate([order[:hard], others]))


WINDOWS = tuple(Window(dropped, hard) for dropped in (0.0, 0.05, 0.1, 0.2, None) for hard in (0.5, 1.0))


def choose_window(
    scorer: HeldOutScorer, difficulty: Difficulty, size: int, *, progress: bool | None = None
) -> Window:
    """The window that is best for sets of ``size`` of all rows, as far as the folds can tell.

    Parameters
    ----------
    scorer : HeldOutScorer
        With the training rows among its evaluation rows.
    difficulty : Difficulty
    size : int
    progress : bool, optional
    """
    windows = [w for w in WINDOWS if w.dropped is not None or scorer.split.task == "classification"]
    scores, weights = np.zeros(len(windows)), scorer.weights[len(scorer.y) - len(scorer.rows) :]
    with Progress("windows of difficulty", _FOLDS, enabled=progress) as bar:
        for fold, ease in enumerate(difficulty.without):
            others = np.flatnonzero(difficulty.folds != fold)
            fewer = max(1, round(size * len(others) / len(ease)))
            rng = np.random.default_rng([scorer.seed, 6, fold])
            sets = [others[w.draw(ease[others], fewer, rng)] for w in windows for _ in range(_DRAWS)]
            right = scorer.score_rows(np.stack(sets), fold).right[:, -len(scorer.rows) :]
            asked = np.where(difficulty.folds[scorer.rows] == fold, weights, 0)
            scores += (right @ asked).reshape(len(windows), _DRAWS).sum(axis=1)
            bar.advance()
    return windows[int(np.argmax(scores))]
