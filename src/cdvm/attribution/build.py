"""T from what there is: outcomes of subset models, similarity, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from cdvm._runtime.progress import Progress
from cdvm.attribution.base import Attribution
from cdvm.attribution.grown import GrownAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.attribution.mixture import mix_attributions
from cdvm.attribution.similarity import similarity_attribution
from cdvm.data.split import Split
from cdvm.outcomes.recorded import Outcomes

__all__ = ["build_attribution"]


def build_attribution(
    source: Literal["models", "similarity", "mixture"],
    split: Split,
    evidence: Sequence[Outcomes],
    *,
    compact: bool = False,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Attribution:
    """The attribution of a source; ``evidence`` are the outcomes of models, where it has some.

    Outcomes of one time are taken together, those of several weighed against each other, see
    :mod:`cdvm.attribution.grown`.
    """
    models: ImplicitAttribution | GrownAttribution | None = None
    if evidence:
        with Progress("building T", enabled=progress):
            times: dict[Any, list[Outcomes]] = {}
            for outcomes in evidence:
                times.setdefault(_time_of(outcomes), []).append(outcomes)
            parts = [ImplicitAttribution.from_outcomes(*some, compact=compact) for some in times.values()]
            parts.sort(key=lambda part: part.shape[1])
            models = parts[0] if len(parts) == 1 else GrownAttribution(parts)
        if source == "models":
            return models
    similar = similarity_attribution(split, n_jobs=n_jobs, progress=progress)
    return similar if models is None else mix_attributions(models, similar)


def _time_of(outcomes: Outcomes) -> Any:
    """Equal for models that drew from the same rows in the same way and were asked about the same."""
    design = outcomes.design
    drawn = (design.kind, design.inclusion, design.recent, design.recent_inclusion, design.later)
    return *drawn, outcomes.n_evaluation
