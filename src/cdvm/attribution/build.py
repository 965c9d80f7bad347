"""T from what there is: outcomes of subset models, similarity, or both."""

from __future__ import annotations

from typing import Literal

from cdvm._runtime.progress import Progress
from cdvm.attribution.base import Attribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.attribution.mixture import mix_attributions
from cdvm.attribution.similarity import similarity_attribution
from cdvm.data.split import Split
from cdvm.outcomes.recorded import Outcomes

__all__ = ["build_attribution"]


def build_attribution(
    source: Literal["models", "similarity", "mixture"],
    split: Split,
    outcomes: Outcomes | None,
    *,
    compact: bool = False,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Attribution:
    """The attribution of a source; ``outcomes`` are those of the models, where it has some."""
    models = None
    if outcomes is not None:
        with Progress("building T", enabled=progress):
            models = ImplicitAttribution.from_outcomes(outcomes, compact=compact)
        if source == "models":
            return models
    similar = similarity_attribution(split, n_jobs=n_jobs, progress=progress)
    return similar if models is None else mix_attributions(models, similar)
