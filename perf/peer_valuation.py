"""pyDVL's side of the valuation benchmark, run by the Python of the peer's environment.

``python peer_valuation.py METHOD COUNT JOBS DATA ANSWER`` reads a split from DATA and writes values and
seconds to ANSWER. COUNT is of models, or of orders for Shapley.
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import islice

import numpy as np
from joblib import Parallel, delayed, parallel_config
from pydvl.valuation import (
    DataOOBValuation,
    Dataset,
    MaxChecks,
    ModelUtility,
    MSRBanzhafValuation,
    MSRSampler,
    PermutationSampler,
    ShapleyValuation,
    SupervisedScorer,
)
from pydvl.valuation.base import Valuation
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression


class Logistic(LogisticRegression):
    """Answers the only class of a set that has one, where scikit-learn refuses: our utility."""

    def fit(self, X, y):
        self.only = y[0] if (y == y[0]).all() else None
        return self if self.only is not None else super().fit(X, y)

    def predict(self, X):
        return super().predict(X) if self.only is None else np.full(len(X), self.only)


def accuracy(model: Logistic, X: np.ndarray, y: np.ndarray) -> float:
    return float((model.predict(X) == y).mean())


class Peer:
    def __init__(self, data: dict[str, np.ndarray], jobs: int) -> None:
        self.train = Dataset(data["X"], data["y"])
        self.evaluation = Dataset(data["X_val"], data["y_val"])
        self.model = Logistic(C=float(data["C"]), max_iter=1000)
        self.jobs = jobs
        frequent = np.bincount(data["y"]).argmax()
        self.empty = float((data["y_val"] == frequent).mean())

    def utility(self) -> ModelUtility:
        scorer = SupervisedScorer(accuracy, self.evaluation, default=self.empty, range=(0.0, 1.0))
        return ModelUtility(self.model, scorer, catch_errors=False)

    def banzhaf(self, count: int) -> np.ndarray:
        # MaxSamples would count sets that were drawn but not evaluated yet
        return self.values(MSRBanzhafValuation(self.utility(), MaxChecks(count), seed=1))

    def banzhaf_utility(self, count: int) -> np.ndarray:
        """The same sets and utilities without pyDVL's bookkeeping, which touches all rows for every row."""
        utility = self.utility().with_dataset(self.train)
        draws = list(islice(MSRSampler(seed=1).generate(self.train.indices), count))
        worth = np.array(Parallel()(delayed(utility)(draw) for draw in draws))
        inside = np.zeros((count, len(self.train)))
        for row, draw in zip(inside, draws, strict=True):
            row[draw.subset] = 1
        return worth @ inside / inside.sum(axis=0) - worth @ (1 - inside) / (1 - inside).sum(axis=0)

    def shapley(self, count: int) -> np.ndarray:
        sampler = PermutationSampler(seed=1)
        return self.values(ShapleyValuation(self.utility(), sampler, MaxChecks(count)))

    def out_of_bag(self, count: int) -> np.ndarray:
        bags = BaggingClassifier(self.model, n_estimators=count, random_state=1, n_jobs=self.jobs)
        return self.values(DataOOBValuation(bags.fit(*self.train.data())))

    def values(self, valuation: Valuation) -> np.ndarray:
        result = valuation.fit(self.train).result
        result.sort(key="index")
        return result.values


def start_workers(jobs: int) -> None:
    """Processes start, and import what they need, before the clock does."""
    rows = np.arange(8.0)[:, None], np.arange(8) % 2
    Parallel()(delayed(LogisticRegression().fit)(*rows) for _ in range(4 * jobs))


def main() -> None:
    method, count, jobs, data, answer = sys.argv[1:]
    with np.load(data) as stored:
        peer = Peer(dict(stored), int(jobs))
    with parallel_config(backend="loky", n_jobs=int(jobs), inner_max_num_threads=1):
        start_workers(int(jobs))
        started = time.perf_counter()
        values = getattr(peer, method)(int(count))
        seconds = time.perf_counter() - started
    np.savez(answer, values=values, seconds=seconds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
