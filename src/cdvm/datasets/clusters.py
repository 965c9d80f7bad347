"""Gaussian clusters of two classes: the paper's synthetic model.

Every cluster is needed to classify its own region, and one row of it is enough. Values that rank rows once
give rows of large clusters small values and prune whole clusters; the paper's example has 8 rows in 4
clusters of sizes 3, 2, 2 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["PAPER_CLUSTERS", "Clusters", "make_clusters"]


@dataclass(frozen=True)
class Clusters:
    """Centres, sizes and class labels of Gaussian clusters with a common spread."""

    centers: tuple[tuple[float, float], ...]
    sizes: tuple[int, ...]
    labels: tuple[str, ...]
    spread: float = 0.1

    def resized(self, size: int) -> Clusters:
        """The same clusters with ``size`` rows each."""
        return replace(self, sizes=(size,) * len(self.sizes))


PAPER_CLUSTERS = Clusters(
    centers=((-2.0, 0.5), (2.5, 0.0), (-2.5, -0.5), (2.0, 0.0)),
    sizes=(3, 2, 2, 1),
    labels=("red", "red", "blue", "blue"),
)


def make_clusters(
    clusters: Clusters = PAPER_CLUSTERS, *, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
    """Draw rows: features, class labels and the cluster each row belongs to.

    >>> X, y, member = make_clusters(random_state=0)
    >>> X.shape, member.tolist()
    ((8, 2), [0, 0, 0, 1, 1, 2, 2, 3])
    """
    rng = check_random_state(random_state)
    member = np.repeat(np.arange(len(clusters.sizes)), clusters.sizes)
    centers = np.asarray(clusters.centers)[member]
    X = centers + clusters.spread * rng.standard_normal(centers.shape)
    return X, np.asarray(clusters.labels)[member], member
