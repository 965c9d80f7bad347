"""How a benchmark is run: the rows, the noise, the model and how often, as one object that can be saved."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from cdvm.data.split import Split
from cdvm.datasets import Dataset, load_dataset
from cdvm.errors import InputError, unknown_name
from cdvm.learners.base import Learner
from cdvm.learners.logistic import LogisticLearner
from cdvm.learners.paper import PaperLearner
from cdvm.valuation.noise import flip_labels

__all__ = ["PROTOCOLS", "SIX", "TABULAR", "Protocol", "get_protocol"]

TABULAR = ("pol", "adult", "nomao")
SIX = (*TABULAR, "bbc", "imdb", "cifar10")


@dataclass(frozen=True)
class Protocol:
    """One way to compare methods.

    Attributes
    ----------
    name : str
    train, validation, test : int
        Rows of each part, drawn by one random permutation. Of a small data set the test part gets what is
        left, and the parts shrink alike where even that is not enough.
    noise : float
        Fraction of the training labels and of the validation labels that is moved to another class.
    split_seed : int or None
        Seed of the split and of the noise; None draws both anew for each repetition.
    scaling : {"table", "train", "tabular"}
        Where features are scaled: over the whole table, over the training rows, or over the whole table of
        data sets that are no embeddings.
    model : {"paper", "logistic"}
        The paper's under-trained linear model with initial weights of its own for each repetition, or
        converged logistic regression.
    penalty : dict
        C of the logistic regression by data set; 1 for the others.
    budgets : tuple of int
        Rows to keep, for 1,000 training rows; in proportion for fewer.
    repetitions : int
    random_draws : int
        Random sets for each repetition.
    seed : int
        Everything random follows from it, the data set and the repetition.

    Examples
    --------
    >>> print(get_protocol("paper").replace(repetitions=3))
    paper: 1000 train / 500 validation / 500 test rows, split seed 42, 10 % label noise, model paper,
    3 repetitions, budgets 50, 100, 150, 200, 250, 300
    """

    name: str
    train: int = 1000
    validation: int = 500
    test: int = 500
    noise: float = 0.0
    split_seed: int | None = None
    scaling: str = "train"
    model: str = "logistic"
    penalty: dict[str, float] = field(default_factory=dict)
    budgets: tuple[int, ...] = (50, 100, 150, 200, 250, 300)
    repetitions: int = 25
    random_draws: int = 4
    seed: int = 0

    def __str__(self) -> str:
        split = f"split seed {self.split_seed}" if self.split_seed is not None else "a new split each time"
        noise = f"{self.noise:.0%} label noise".replace("%", " %") if self.noise else "no label noise"
        return (
            f"{self.name}: {self.train} train / {self.validation} validation / {self.test} test rows, "
            f"{split}, {noise}, model {self.model},\n{self.repetitions} repetitions, "
            f"budgets {', '.join(map(str, self.budgets))}"
        )

    def replace(self, **changes: Any) -> Protocol:
        """The same protocol with other values."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"budgets": list(self.budgets)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Protocol:
        """What :meth:`to_dict` gave."""
        known = {f.name for f in fields(cls)}
        if unknown := set(values) - known:
            raise InputError(f"a protocol has no {sorted(unknown)[0]!r}")
        return cls(**(values | {"budgets": tuple(values["budgets"])}))

    def split(self, dataset: str, repetition: int) -> Split:
        """The rows of one repetition, with noise and scaling; test labels are clean."""
        data = _loaded(dataset)
        whole = self.scaling == "table" or (self.scaling == "tabular" and data.scale)
        X, y = (_scaled(dataset) if whole else data.X), data.y
        seed = self.split_seed if self.split_seed is not None else self.seed_of(dataset, repetition)
        parts = self._parts(len(y), seed)
        arrays = [array[rows] for rows in parts for array in (X, y)]
        split = Split.from_arrays(*arrays)
        if self.scaling == "train":
            split = split.standardized()
        if self.noise:
            flipped = {
                name: flip_labels(codes, self.noise, n_classes=split.n_classes, seed=seed + k)[0]
                for k, (name, codes) in enumerate([("y", split.y), ("y_val", split.validation[1])])
            }
            split = replace(split, **flipped)  # type: ignore[arg-type]
        return split

    def learner(self, dataset: str, repetition: int) -> Learner:
        """The model of one repetition."""
        if self.model == "paper":
            return PaperLearner(init_seed=self.seed_of(dataset, repetition))
        return LogisticLearner(C=self.penalty.get(dataset, 1.0))

    def seed_of(self, dataset: str, repetition: int) -> int:
        """A seed for all that is drawn in one repetition on one data set."""
        words = [self.seed, repetition, *dataset.encode()]
        return int(np.random.SeedSequence(words).generate_state(1)[0] >> 1)

    def _parts(self, n_rows: int, seed: int) -> list[np.ndarray[Any, Any]]:
        wanted = np.array([self.train, self.validation, self.test])
        if n_rows < wanted[:2].sum() + self.validation // 2:
            wanted = np.floor(wanted * n_rows / wanted.sum()).astype(int)
        order = np.random.RandomState(seed).permutation(n_rows)
        return [part for part in np.split(order[: wanted.sum()], wanted.cumsum()[:2]) if len(part)]


PROTOCOLS = {
    "paper": Protocol("paper", noise=0.1, split_seed=42, scaling="tabular", model="paper"),
    "clean": Protocol("clean", test=2000, penalty={"bbc": 0.01, "imdb": 0.01, "cifar10": 0.01}),
    "noisy": Protocol("noisy", test=2000, noise=0.1, penalty={"bbc": 0.01, "imdb": 0.01, "cifar10": 0.01}),
}


def get_protocol(name: str) -> Protocol:
    """A protocol by name: ``paper``, ``clean``, or ``noisy`` (clean with 10 % of the labels wrong)."""
    if name not in PROTOCOLS:
        raise unknown_name("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


@lru_cache(maxsize=8)
def _loaded(dataset: str) -> Dataset:
    return load_dataset(dataset)


@lru_cache(maxsize=8)
def _scaled(dataset: str) -> np.ndarray[Any, Any]:
    return _loaded(dataset).standardized().X
