"""Gaussian clusters of two classes: the paper's synthetic model, and the game it comes down to.

Every cluster is needed to classify its own region, and one row of it is enough. With clusters *C_k* of
*n_k* rows and utilities *u_k*, a training set *S* is worth::

    v(S) = Σ_k u_k · 1{S meets C_k}

Row *i* of cluster *k* adds something only to sets without another row of its cluster, so its values are
closed: Shapley ``u_k / n_k``, Banzhaf ``u_k / 2^(n_k − 1)`` (``u_k (1 − p)^(n_k − 1)`` for inclusion *p*),
leave-one-out ``u_k`` if it is alone in its cluster and 0 otherwise. Values that rank rows once therefore
empty large clusters first (or, where test rows are spread like training rows, rank nothing: the Shapley value
is then constant), while the best sets keep one row of every cluster as long as they can. The paper's
example has 8 rows in 4 clusters of sizes 3, 2, 2 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import betaln
from sklearn.utils import check_random_state

from cdvm.attribution.base import MatrixAttribution
from cdvm.data.split import Features, Split
from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.sampling import Subsets

__all__ = ["PAPER_CLUSTERS", "ClusterGame", "ClusterLearner", "Clusters", "make_clusters"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Clusters:
    """Centres, sizes and class labels of Gaussian clusters with a common spread."""

    centers: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]
    labels: tuple[str, ...]
    spread: float = 0.05

    def __post_init__(self) -> None:
        if not len(self.centers) == len(self.sizes) == len(self.labels):
            raise InputError(
                f"{len(self.centers)} centers, {len(self.sizes)} sizes and {len(self.labels)} labels: "
                "name one of each per cluster"
            )

    def resized(self, size: int | Sequence[int]) -> Clusters:
        """The same clusters with ``size`` rows each, or with one size per cluster."""
        sizes = (size,) * len(self.sizes) if isinstance(size, int) else tuple(size)
        return replace(self, sizes=sizes)


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


@dataclass(frozen=True, eq=False)
class ClusterGame:
    """The cooperative game in which a cluster counts as soon as one of its rows is there.

    Parameters
    ----------
    member : sequence of int
        Cluster of each row, 0 to K − 1; every cluster has a row.
    utilities : sequence of K numbers
        What each cluster is worth.

    Examples
    --------
    >>> game = ClusterGame([0, 0, 0, 1, 1, 2, 2, 3], [0.25] * 4)
    >>> game(Subsets.of([[], [0, 1], [0, 3, 5, 7]], n_rows=8))
    array([0. , 0.25, 1. ])
    >>> game.shapley().round(3)
    array([0.083, 0.083, 0.083, 0.125, 0.125, 0.125, 0.125, 0.25 ])
    """

    member: NDArray[np.int64]
    utilities: Vector

    def __post_init__(self) -> None:
        member = np.asarray(self.member, dtype=np.int64)
        utilities = np.asarray(self.utilities, dtype=np.float64)
        if member.ndim != 1 or utilities.ndim != 1 or not member.size:
            raise InputError("a cluster game needs one cluster per row and one utility per cluster")
        counts = np.bincount(member, minlength=len(utilities)) if member.min() >= 0 else np.zeros(1)
        if len(counts) != len(utilities) or counts.min() == 0:
            raise InputError(
                f"member names clusters {np.unique(member).tolist()}, but there are {len(utilities)} "
                f"utilities: every cluster 0..{len(utilities) - 1} needs a row, and no other may be named"
            )
        object.__setattr__(self, "member", member)
        object.__setattr__(self, "utilities", utilities)

    @classmethod
    def from_test_sizes(cls, member: ArrayLike, test_sizes: ArrayLike) -> ClusterGame:
        """The game of test accuracy: ``u_k = m_k / m`` for *m_k* test rows in cluster *k*."""
        sizes = np.asarray(test_sizes, dtype=np.float64)
        if sizes.size == 0 or sizes.min() < 0 or sizes.sum() == 0:
            raise InputError(f"test_sizes={test_sizes!r}: use one count per cluster, not all of them 0")
        return cls(np.asarray(member), sizes / sizes.sum())

    @property
    def n_rows(self) -> int:
        return len(self.member)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each cluster, n_k."""
        return np.bincount(self.member, minlength=len(self.utilities)).astype(np.int64)

    def __call__(self, subsets: Subsets) -> Vector:
        """Worth of each training set."""
        ones = np.ones(self.n_rows, dtype=np.int32)
        place = (np.arange(self.n_rows), self.member)
        indicator = sparse.csr_array((ones, place), shape=(self.n_rows, len(self.utilities)))
        met = (subsets.members @ indicator).toarray() > 0
        return np.asarray(met @ self.utilities, dtype=np.float64)

    def shapley(self) -> Vector:
        """Shapley values, u_k / n_k."""
        return (self.utilities / self.sizes)[self.member]

    def banzhaf(self, inclusion: float = 0.5) -> Vector:
        """Banzhaf values: the mean gain over sets that hold each other row with probability ``inclusion``."""
        return (self.utilities * (1.0 - inclusion) ** (self.sizes - 1))[self.member]

    def beta_shapley(self, alpha: float = 16.0, beta: float = 1.0) -> Vector:
        """Beta Shapley values: Banzhaf values averaged over an inclusion drawn from Beta(beta, alpha)."""
        alone: Vector = np.exp(betaln(beta, alpha + self.sizes - 1) - betaln(beta, alpha))
        return (self.utilities * alone)[self.member]

    def leave_one_out(self) -> Vector:
        """What removing a row alone costs: u_k if its cluster has no other."""
        return np.where(self.sizes == 1, self.utilities, 0.0)[self.member]

    def attribution(self, test_sizes: ArrayLike, tau: ArrayLike = 1.0) -> MatrixAttribution:
        """T of the game: ``tau_k`` where training and test row share cluster *k*, 0 elsewhere.

        Test rows come in the order of their clusters, ``test_sizes[k]`` of them for cluster *k*.
        """
        sizes = np.asarray(test_sizes, dtype=np.int64)
        if sizes.shape != self.sizes.shape:
            raise InputError(f"test_sizes has {sizes.size} numbers for {len(self.sizes)} clusters")
        strength = np.broadcast_to(np.asarray(tau, dtype=np.float64), self.sizes.shape)[self.member]
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        return MatrixAttribution(np.where(self.member[:, None] == cluster, strength[:, None], 0.0))


class ClusterLearner(Learner):
    """Answer with the class of the nearest centre if a row of that cluster was trained on.

    Where it was not, the answer is -1, no class, so that accuracy is exactly the :class:`ClusterGame` of the
    clusters. Which cluster a row belongs to is decided by its nearest centre as well.
    """

    name = "nearest_center"

    def __init__(self, clusters: Clusters = PAPER_CLUSTERS) -> None:
        self.clusters = clusters

    def bind(self, split: Split, X: Features) -> Trainer:
        width = len(self.clusters.centers[0])
        if split.classes is None or split.X.shape[1] != width or sparse.issparse(split.X):
            raise InputError(
                f"ClusterLearner classifies dense rows by {len(self.clusters.centers)} centres in "
                f"{width} dimensions: it fits the clusters data set only; use 'neighbors' for other data"
            )
        unknown = sorted(set(self.clusters.labels) - {str(label) for label in split.classes})
        if unknown:
            raise InputError(f"ClusterLearner knows labels {unknown} that y does not hold")
        return _ClusterTrainer(split, X, self.clusters)

    def spec(self) -> dict[str, Any]:
        kinds = {"centers": [list(c) for c in self.clusters.centers], "labels": list(self.clusters.labels)}
        return {"name": self.name, **kinds}


class _ClusterTrainer(Trainer):
    def __init__(self, split: Split, X: Features, clusters: Clusters) -> None:
        super().__init__(split, X)
        code = {str(label): number for number, label in enumerate(split.labels(np.arange(split.n_classes)))}
        centers = np.asarray(clusters.centers)
        answers = np.array([code[label] for label in clusters.labels], dtype=np.int32)
        asked = _nearest(X, centers)
        self._answer, self._asked = answers[asked], asked
        one_hot = np.eye(len(centers), dtype=np.int32)[_nearest(split.X, centers)]
        self._indicator = sparse.csr_array(one_hot)

    def predict(self, subsets: Subsets) -> NDArray[Any]:
        met = (subsets.members @ self._indicator).toarray() > 0
        return np.where(met[:, self._asked], self._answer, np.int32(-1))

    def scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        classes = np.arange(self.split.n_classes)
        return np.asarray(self.predict(subsets)[..., None] == classes, dtype=np.float32)

    _labels, _scores = predict, scores


def _nearest(X: Features, centers: Vector) -> NDArray[np.int64]:
    squared = ((np.asarray(X)[:, None, :] - centers) ** 2).sum(axis=2)
    return np.asarray(squared.argmin(axis=1), dtype=np.int64)
