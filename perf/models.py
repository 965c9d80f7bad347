"""Rows for the models people use, against every other way to choose: ``python -m perf.models``.

One line of JSON in ``results.jsonl`` for every data set, number of rows, split, model, budget and method: the
accuracy on rows that had no part in choosing, and the processor seconds of choosing. Lines that are there are
not computed again, so a run that was stopped goes on with the same command, and one with further methods adds
theirs; several runs may share the file when each has data sets, models or splits of its own. Splits come one
after the other, so that what is finished at any time has all data sets and models.

Models with the same proxy share what it proposes, and methods that know nothing of a model their rows. The
seconds of a line are those of all that led to it, wherever it was computed first.

``--seconds`` measures how long a user waits instead, each budget of each model alone and on all cores, into
``seconds.jsonl``. ``--table`` writes ``README.md`` and a figure of the lines there are (:mod:`perf.pages`).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cdvm import CDVM, Split
from cdvm.datasets import load_dataset
from cdvm.evaluation.comparison import random_sets
from cdvm.evaluation.difficulty import Difficulty, find_difficulty
from cdvm.evaluation.refinement.scorer import HeldOutScorer
from cdvm.evaluation.scoring import evaluate_sets
from cdvm.evaluation.synthetic import with_synthetic_rows
from cdvm.learners import Learner, make_learner
from cdvm.learners.relatives import akin, proxy_for
from cdvm.pruner.grounds import Evaluation, Grounds
from cdvm.pruner.portfolio import Portfolio, Proposal
from cdvm.sampling import seed_of
from cdvm.selectors import learn_of_rows, learnt_by, select_rows, selector_options
from perf.kept import keep, read
from perf.libraries import LIBRARIES
from perf.portfolio import principal

DATASETS = ("adult", "nomao", "pol", "fashion_mnist")
MODELS = ("boosting", "lightgbm", "forest", "mlp", "neighbors", "logistic")
BUDGETS = (0.01, 0.05, 0.1, 0.2, 0.3)
PEERS = (
    "stratified", "k_center", "herding", "facility_location", "moderate", "hardest_right", "coverage_centric",
    "margin", "el2n", "forgetting", "craig", "glister", "coretab", *LIBRARIES,
)  # fmt: skip
DRAWS = 20
COMPONENTS = 64  # of images


def load(name: str, n_rows: int, number: int, noise: float) -> Split:
    """Rows to choose from and 5,000 others to test on, standardised; ``noise`` of the labels made wrong."""
    table = load_dataset(name)
    X, y = np.asarray(table.X, dtype=np.float64), np.unique(table.y, return_inverse=True)[1]
    rng = np.random.default_rng(number)
    order = rng.permutation(len(y))
    n_rows = min(n_rows, int(0.7 * len(y)))
    train, test = order[:n_rows], order[n_rows : n_rows + 5000]
    if X.shape[1] > 500:
        from sklearn.decomposition import PCA

        pca = PCA(COMPONENTS, random_state=0).fit(X[train])
        X = pca.transform(X)
    given = y[train].copy()
    wrong = rng.random(n_rows) < noise
    given[wrong] = (given[wrong] + rng.integers(1, y.max() + 1, wrong.sum())) % (y.max() + 1)
    found = Split.from_arrays(
        X[train], given, X_test=X[test], y_test=y[test], validation="out_of_bag", random_state=0
    )
    return found.standardized()


class Memory:
    """What was computed for one model and serves others; its clock runs as if nothing were remembered."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[Any, float]] = {}
        self._saved = 0.0

    def clock(self) -> float:
        return time.process_time() + self._saved

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key in self._found:
            self._saved += self._found[key][1]
        else:
            started = self.clock()
            found = make()
            self._found[key] = found, self.clock() - started
        return self._found[key][0]


@dataclass(frozen=True, eq=False)
class Shared(Portfolio):
    """A portfolio that refines a set, and prepares to train, once for all models whose proxy is the same."""

    memory: Memory = field(default_factory=Memory)

    def _bind(self, learner: Learner, evaluation: Evaluation) -> HeldOutScorer:
        key = ("scorer", _name(learner), evaluation)
        return self.memory.get(key, lambda: super(Shared, self)._bind(learner, evaluation))

    def _refined(self, start: Proposal) -> Proposal:
        key = ("refined", _name(self.proxy), start.selection.rows.tobytes())
        return self.memory.get(key, lambda: super(Shared, self)._refined(start))


def _name(learner: Learner) -> str:
    return json.dumps(learner.spec(), default=str)


@dataclass(frozen=True)
class Cell:
    """One split and one model."""

    split: Split
    learner: Learner
    number: int
    options: argparse.Namespace
    memory: Memory

    def lines(self, done: set[tuple[float, str]]) -> Iterator[dict[str, Any]]:
        """Lines that are missing, for every budget and method."""
        if (1.0, "all") not in done:
            yield {"budget": 1.0, "method": "all", "accuracy": self.accuracies([range(self.split.n_rows)])[0]}
        for method in self.options.methods:
            for budget in self.options.budgets:
                if (budget, method) not in done:
                    yield {"budget": budget, "method": method, **self.measure(method, budget)}

    def measure(self, method: str, budget: float) -> dict[str, Any]:
        if method == "cdvm":
            return self.choose(budget)
        if method != "random":
            return self.choose_by(method, budget)
        size = round(budget * self.split.n_rows)
        found = self.accuracies(random_sets(self.split.n_rows, size, DRAWS, seed=self.number))
        return {"accuracy": float(np.mean(found)), "std": float(np.std(found, ddof=1))}

    def accuracies(self, sets: list[Any]) -> list[float]:
        test = (self.split.X_test, self.split.y_test)
        return evaluate_sets(self.split, self.learner, sets, test, **self.jobs)[0].mean(axis=1).tolist()

    @property
    def jobs(self) -> dict[str, Any]:
        return {"n_jobs": self.options.jobs, "progress": False}

    def learnt(self, what: str, proxy: Learner) -> Any:
        """What models of the proxy, or others, say of the rows."""
        if what == "ease":
            return self.difficulty(proxy).ease
        own = {"learner": proxy, "random_state": self.number, **self.jobs}
        key = (what, _name(proxy) if what in ("errors", "residuals") else None)
        return self.memory.get(key, lambda: learn_of_rows(self.split, what, **own))

    def difficulty(self, proxy: Learner) -> Difficulty:
        own = {"seed": seed_of(self.number), **self.jobs}
        return self.memory.get(
            ("difficulty", _name(proxy)), lambda: find_difficulty(self.split, proxy, **own)
        )

    def choose(self, budget: float) -> dict[str, Any]:
        """As ``CDVM(learner, effort=…).fit_split(split).select(budget)`` does it."""
        proxy, own = proxy_for(self.learner), {"seed": seed_of(self.number), **self.jobs}
        name, started = _name(proxy), self.memory.clock()
        pruner = self.memory.get(
            ("fit", name),
            lambda: CDVM(proxy, effort="low", random_state=self.number, **self.jobs).fit_split(self.split),
        )
        shown = self.memory.get("synthetic", lambda: with_synthetic_rows(self.split, **own))
        grounds = Grounds(shown, shown, self.difficulty(proxy), given=0)
        ways = Shared(grounds, self.learner, proxy, self.options.effort, **own, memory=self.memory)
        own_rows = None if akin(self.learner, proxy) else _name(self.learner)
        key = ("proposals", name, own_rows, budget)
        proposals = self.memory.get(key, lambda: ways.propose(pruner.select(budget)))
        keep = ways.decide(proposals)
        seconds = self.memory.clock() - started
        return {
            "accuracy": self.accuracies([keep.rows])[0],
            "seconds": round(seconds, 2),
            "way": next(line.name for line in keep.leaderboard or () if line.kept),
            "agreement": keep.agreement,
            "board": {line.name: round(line.score, 4) for line in keep.leaderboard or ()},
        }

    def choose_by(self, peer: str, budget: float) -> dict[str, Any]:
        started = self.memory.clock()
        rows = self.rows_of(peer, budget)
        seconds = self.memory.clock() - started
        return {"accuracy": self.accuracies([rows])[0], "seconds": round(seconds, 2)}

    def rows_of(self, peer: str, budget: float) -> Any:
        if peer in LIBRARIES:
            return self.memory.get(peer, lambda: LIBRARIES[peer](self.split, self.options.budgets))[budget]
        proxy, known = proxy_for(self.learner), selector_options(peer)
        given: dict[str, Any] = {"random_state": self.number}
        if "learner" in known:
            given["learner"] = proxy
        given |= {what: self.learnt(what, proxy) for what in learnt_by(peer)}
        key = (peer, budget, _name(proxy) if "learner" in known else None)
        return self.memory.get(key, lambda: select_rows(self.split, peer, budget, **given))


def run(options: argparse.Namespace) -> None:
    path = options.out / "results.jsonl"
    done = defaultdict(set)
    for line in read(path):
        done[setting_of(line)].add((line["budget"], line["method"]))
    for number in options.splits:
        for name in options.datasets:
            split, memory = load(name, options.rows, number, options.noise), Memory()
            for model in options.models:
                setting = (name, options.rows, options.noise, number, model)
                cell = Cell(split, make_learner(principal(model)), number, options, memory)
                for line in cell.lines(done[setting]):
                    _write(path, setting, line)


def measure_seconds(options: argparse.Namespace) -> None:
    """From the rows to the rows to keep, nothing shared: what a user waits."""
    path = options.out / "seconds.jsonl"
    for number in options.splits:
        for name in options.datasets:
            split = load(name, options.rows, number, options.noise)
            for model in options.models:
                for budget in options.budgets:
                    started = time.perf_counter()
                    learner = make_learner(principal(model))
                    jobs = {"n_jobs": options.jobs, "progress": False}
                    pruner = CDVM(learner, effort=options.effort, random_state=number, **jobs)
                    keep = pruner.fit_split(split).select(budget)
                    seconds = time.perf_counter() - started
                    test = (split.X_test, split.y_test)
                    accuracy = evaluate_sets(split, learner, [keep.rows], test, **jobs).mean()
                    line = {"budget": budget, "method": "cdvm", "accuracy": float(accuracy)}
                    setting = (name, options.rows, options.noise, number, model)
                    _write(path, setting, line | {"seconds": round(seconds, 1), "jobs": options.jobs})


SETTING = ("dataset", "rows", "noise", "split", "model")


def setting_of(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[key] for key in SETTING)


def _write(path: Path, setting: tuple[Any, ...], line: dict[str, Any]) -> None:
    keep(path, dict(zip(SETTING, setting, strict=True)) | line)
    told = f"{line['accuracy']:.4f} {line.get('seconds', '')}"
    print(*setting, line["budget"], line["method"], told, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.models", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/models"))
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--budgets", type=float, nargs="+", default=list(BUDGETS))
    parser.add_argument("--methods", nargs="+", default=["random", "cdvm", *PEERS])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--noise", type=float, default=0.0, help="fraction of the labels made wrong")
    parser.add_argument("--effort", choices=["medium", "high"], default="medium")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seconds", action="store_true", help="measure how long a user waits")
    parser.add_argument("--table", action="store_true", help="write README.md of the lines there are")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    if options.table:
        from perf.pages import write

        return write(options.out)
    measure_seconds(options) if options.seconds else run(options)


if __name__ == "__main__":
    main()
