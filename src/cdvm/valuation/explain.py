"""Why a row was kept, or was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.attribution.base import Attribution
from cdvm.attribution.grown import GrownAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.optimize.program import Program
from cdvm.outcomes.recorded import Outcomes
from cdvm.selection import Selection
from cdvm.valuation.evidence import count_votes, surprise

__all__ = ["Effects", "Explanation", "Influence", "effects_of", "explain_row"]

_TRIED = 256  # rows that could take a place
_AT_ONCE = 256  # rows of T read at once


@dataclass(frozen=True)
class Influence:
    """What a row does for an evaluation row: its position, the influence and its standard error."""

    row: int
    influence: float
    standard_error: float


@dataclass(frozen=True)
class Explanation:
    """What is known of one row.

    Attributes
    ----------
    row : int
        Its position in the table.
    label : object
    kept : bool
    value, standard_error : float
        What it does for an evaluation row on average.
    helps, hurts : tuple of Influence
        The evaluation rows it does most for, and most against: positions in the table where training rows are
        evaluation rows, among the validation rows otherwise.
    exchanges : tuple of (row, loss)
        Of a kept row: what else could take its place, and what of the program's objective that would cost. Of
        another: the kept rows it could replace, likewise. The least costly first.
    right : float or None
        How often models that did not see the row get its label right, where they were asked.
    p_value : float or None
        How surprising its label is to them; small is suspect.
    """

    row: int
    label: Any
    kept: bool
    value: float
    standard_error: float
    helps: tuple[Influence, ...]
    hurts: tuple[Influence, ...]
    exchanges: tuple[tuple[int, float], ...]
    right: float | None = None
    p_value: float | None = None

    def __str__(self) -> str:
        lines = [
            f"row {self.row} ({self.label}) was {'kept' if self.kept else 'not kept'}",
            f"it adds {self.value:+.4f} ± {self.standard_error:.4f} to an evaluation row on average",
        ]
        for word, found in (("most for", self.helps), ("most against", self.hurts)):
            if found:
                told = ", ".join(f"{x.row} ({x.influence:+.3f} ± {x.standard_error:.3f})" for x in found)
                lines.append(f"{word} rows {told}")
        if self.exchanges:
            which = "could take its place" if self.kept else "are kept in its place"
            told = ", ".join(f"{row} ({loss:+.4f})" for row, loss in self.exchanges)
            lines.append(f"{which}, at this loss of the objective: {told}")
        if self.right is not None:
            suspect = "" if self.p_value is None else f"; its label has a p-value of {self.p_value:.3g}"
            lines.append(f"models that did not see it get it right {self.right:.0%} of the time{suspect}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Effects:
    """What a training row does: on average, and for whom most; see :class:`Explanation`."""

    value: float
    standard_error: float
    helps: tuple[Influence, ...]
    hurts: tuple[Influence, ...]


def effects_of(
    rows: NDArray[np.int64], split: Split, attribution: Attribution, *, top: int = 5
) -> list[Effects]:
    """Effects of training rows, by their positions among these."""
    places = (
        np.arange(attribution.shape[1])
        if split.evaluation_rows is None
        else split.rows[split.evaluation_rows]
    )
    known = attribution if isinstance(attribution, ImplicitAttribution | GrownAttribution) else None
    mean_errors = np.full(split.n_rows, np.nan) if known is None else known.values_stderr()
    found = []
    for part in np.array_split(rows, -(-len(rows) // _AT_ONCE)) if len(rows) else ():
        block = attribution.block(part)
        errors = np.full(block.shape, np.nan) if known is None else known.stderr(part)
        for row, line, error in zip(part, block, errors, strict=True):
            most = np.argsort(-line, kind="stable")
            helps, hurts = most[:top][line[most[:top]] > 0], most[::-1][:top][line[most[::-1][:top]] < 0]
            for_whom, against = (
                tuple(Influence(int(places[j]), float(line[j]), float(error[j])) for j in some)
                for some in (helps, hurts)
            )
            found.append(Effects(float(line.mean()), float(mean_errors[row]), for_whom, against))
    return found


def explain_row(
    row: int,
    selection: Selection,
    split: Split,
    attribution: Attribution,
    *,
    evidence: Sequence[Outcomes] = (),
    top: int = 5,
) -> Explanation:
    """What there is to say of a row of the table, beside a selection; ``evidence`` are outcomes of models."""
    found = np.flatnonzero(split.rows == row)
    if not len(found):
        raise InputError(f"row={row!r} is not among the rows that could be kept: use a position in the table")
    if not np.array_equal(selection.candidates, split.rows):
        raise InputError("selection was made of other rows: pass one of this pruner's")
    i = int(found[0])
    effects = effects_of(found, split, attribution, top=top)[0]
    right, p_value = _out_of_bag(i, split, evidence)
    return Explanation(
        row=int(row),
        label=split.labels(split.y[[i]])[0],
        kept=bool(np.isin(row, selection.indices)),
        value=effects.value,
        standard_error=effects.standard_error,
        helps=effects.helps,
        hurts=effects.hurts,
        exchanges=_exchanges(i, selection, split, attribution, top),
        right=right,
        p_value=p_value,
    )


def _exchanges(
    i: int, selection: Selection, split: Split, attribution: Attribution, top: int
) -> tuple[tuple[int, float], ...]:
    """Rows to exchange it with, and what that costs of the objective of the program that was solved."""
    if selection.alpha is None or selection.kappa is None or len(selection) == split.n_rows:
        return ()
    program = Program(attribution, len(selection), selection.alpha, selection.kappa)
    chosen = np.zeros(split.n_rows)
    chosen[selection.rows] = 1.0
    now = program.influence(chosen)
    own = attribution.block([i])[0]
    others = np.flatnonzero(chosen != chosen[i])
    alike = others[np.argsort(-program.attribution.matvec(own)[others], kind="stable")[:_TRIED]]
    sign = 1.0 if chosen[i] else -1.0  # what leaves and what enters
    before = program.objective_at(now)
    losses = [before - program.objective_at(now + sign * (other - own)) for other in attribution.block(alike)]
    best = np.argsort(losses, kind="stable")[:top]
    return tuple((int(split.rows[alike[k]]), float(losses[k])) for k in best)


def _out_of_bag(i: int, split: Split, evidence: Sequence[Outcomes]) -> tuple[float | None, float | None]:
    """How often models without the row are right about it, and how surprising its label is to them."""
    known = bool(evidence) and all(some.binary or some.answers is not None for some in evidence)
    if not known or split.evaluation_rows is None:
        return None, None
    answers = np.concatenate([_without(i, outcomes) for outcomes in evidence])
    if not len(answers):
        return None, None
    every = len(evidence) == 1 and len(split.evaluation_rows) == split.n_rows
    votes = count_votes(evidence[0], split) if every else None
    return float(answers.mean()), None if votes is None else float(surprise(votes)[0][i])


def _without(i: int, outcomes: Outcomes) -> NDArray[Any]:
    """Outcomes on a row of the models that did not see it."""
    place = np.flatnonzero(outcomes.evaluation_rows == i)
    if not len(place):
        return np.empty(0)
    seen = outcomes.design.take(outcomes.models).members[:, [i]].toarray().ravel() > 0
    return np.asarray(outcomes.values()[~seen, place[0]])
