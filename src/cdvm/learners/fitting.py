"""The one loop that trains models and notes what they answer.

Outcomes, scores of given sets, searches, values and the benchmark all train in this way, so what runs in
parallel, on a cluster, or with the same bits for any number of workers does so for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from cdvm._runtime.parallel import run_tasks
from cdvm.learners.base import Trainer
from cdvm.sampling import Subsets

__all__ = ["fit_models"]

Noted = TypeVar("Noted")
Options = ParamSpec("Options")


def fit_models(
    trainer: Trainer,
    parts: Sequence[Subsets | Callable[[], Subsets]],
    note: Callable[Concatenate[Trainer, Subsets, Options], Noted],
    *args: Any,
    n_jobs: int | None = -1,
) -> Generator[tuple[int, Noted], None, None]:
    """Yield ``(k, note(trainer, parts[k], *args))`` in the order of completion.

    Parameters
    ----------
    trainer : Trainer
        A learner bound to training rows and to rows to answer.
    parts : sequence of Subsets, or of functions that draw them
        The training sets of one task each; what a function draws is drawn where it is used.
    note : callable
        Trains, by ``trainer.predict`` or ``trainer.scores``, and returns what is wanted of the answers.
    *args
        Handed on to ``note``.
    n_jobs : int, optional
    """
    tasks = [(part,) for part in parts]
    shared = (trainer, note, args)
    yield from run_tasks(_fit_part, tasks, shared=shared, n_jobs=n_jobs, prefer=trainer.prefer)


def _fit_part(trainer: Trainer, note: Callable[..., Noted], args: tuple[Any, ...], part: Any) -> Noted:
    return note(trainer, part() if callable(part) else part, *args)
