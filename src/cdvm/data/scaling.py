"""Whether a learner gets standardised features: decided here, for Python and the command line alike."""

from __future__ import annotations

from typing import Any, Literal

from cdvm._runtime.parameters import check, one_of
from cdvm.data.split import Split

__all__ = ["SCALE", "Scale", "scaled_for"]

Scale = bool | Literal["auto"]
SCALE = one_of("auto", True, False)


def scaled_for(learner: Any, split: Split, scale: Scale = "auto") -> Split:
    """The split as ``learner`` is to see it.

    ``"auto"`` standardises for a learner given by name, which is ours to define, and leaves the features to
    an estimator or a :class:`cdvm.Learner` as they are: whoever passes one says what comes before it, e.g.
    with a pipeline.

    >>> split = Split.from_arrays([[0.0], [100.0]] * 10, ["no", "yes"] * 10, random_state=0)
    >>> from sklearn.svm import SVC
    >>> [scaled_for(learner, split).X.max().item() for learner in ("SVC", SVC())]
    [1.0, 100.0]
    """
    check({"scale": SCALE}, {"scale": scale})
    wanted = isinstance(learner, str) if scale == "auto" else scale
    return split.standardized() if wanted else split
