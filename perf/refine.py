"""What refining adds to CDVM, and what it costs: ``python -m perf.refine``.

For each data set and budget of a protocol (``--protocol paper``, ``clean`` or ``noisy``): test accuracy of
random rows, of CDVM with its defaults, of the same set refined and of all rows; the gain of refining with
the standard error over repetitions, seconds, fits and mean optimism. Below, test accuracy over the
number of fits, mean over all settings. ``--unseen`` takes data sets nothing was tuned on; ``--out DIR``
keeps the table, and the curve of each data set as a figure.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cdvm import CDVM, evaluate_sets, random_sets, refine
from cdvm.benchmark.protocol import SIX, Protocol, get_protocol

UNSEEN = ("breast_cancer", "wine", "mixture", "imbalanced")
MARKS = (0, 125, 250, 500, 1000, 1500, 2000, 2500, 3000)
DRAWS = 8

Line = dict[str, float]


def repetition(
    protocol: Protocol, dataset: str, number: int, budgets: list[int], fits: int | None
) -> list[tuple[Line, list[float]]]:
    """Figures, and the accuracy at each mark, for each budget."""
    split, learner = protocol.split(dataset, number), protocol.learner(dataset, number)
    seed = protocol.seed_of(dataset, number)
    assert split.X_test is not None
    assert split.y_test is not None
    pruner = CDVM(learner, effort="low", random_state=seed, progress=False).fit_split(split)
    found = []
    for fraction in budgets:
        size = max(1, round(fraction * split.n_rows / protocol.train))
        start = pruner.select(size)
        path = []
        began = time.perf_counter()
        refined = refine(
            start,
            split,
            learner,
            fits=fits,
            seed=seed,
            progress=False,
            callback=lambda *told: path.append(told),  # noqa: B023 - used within this turn of the loop
        )
        seconds = time.perf_counter() - began
        spent = np.array([count for count, _ in path])
        marks = [path[int(np.searchsorted(spent, mark, side="right")) - 1][1] for mark in MARKS]
        drawn = random_sets(split.n_rows, size, DRAWS, seed=seed)
        sets = [start.rows, refined.rows, np.arange(split.n_rows), *marks, *drawn]
        scores = evaluate_sets(
            split, learner, sets, (split.X_test, split.y_test), repeats=3, seed=seed, progress=False
        )[0].mean(axis=1)
        found.append(
            (
                {
                    "random": float(scores[-DRAWS:].mean()),
                    "CDVM": float(scores[0]),
                    "refined": float(scores[1]),
                    "all": float(scores[2]),
                    "seconds": seconds,
                    "fits": float(refined.fits or 0),
                    "optimism": float(refined.optimism or 0),
                },
                scores[3:-DRAWS].tolist(),
            )
        )
    return found


def table(protocol: Protocol, datasets: list[str], budgets: list[int], fits: int | None) -> Report:
    names = ["random", "CDVM", "refined", "all", "seconds", "fits", "optimism"]
    report = Report([], {})
    report.say(f"{protocol}\n")
    report.say(f"{'':14} {'rows':>4} " + " ".join(f"{n:>9}" for n in names) + f"  {'gain':>6} ± error")
    gains, worse = [], 0
    for dataset in datasets:
        runs = [
            repetition(protocol, dataset, number, budgets, fits) for number in range(protocol.repetitions)
        ]
        report.curves[dataset] = np.mean([path for run in runs for _, path in run], axis=0)
        for k, budget in enumerate(budgets):
            lines = [run[k][0] for run in runs]
            gain = np.array([line["refined"] - line["CDVM"] for line in lines])
            error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
            gains.append(float(gain.mean()))
            worse += gain.mean() < -error
            cells = [float(np.mean([line[n] for line in lines])) for n in names]
            report.say(
                f"{dataset:14} {budget:4} "
                + " ".join(f"{c:9.3f}" if c < 50 else f"{c:9.0f}" for c in cells)
                + f"  {gain.mean():+.3f} ± {error:.3f}"
            )
    report.say(
        f"\nmean gain {np.mean(gains):+.4f}; worse by more than one standard error: {worse} of {len(gains)}"
    )
    report.say("fits  " + " ".join(f"{mark:>6}" for mark in MARKS))
    mean = np.mean(list(report.curves.values()), axis=0)
    report.say("accuracy   " + " ".join(f"{value:6.3f}" for value in mean))
    return report


class Report(NamedTuple):
    """Lines as they were printed, and test accuracy at each mark by data set."""

    lines: list[str]
    curves: dict[str, np.ndarray]

    def say(self, line: str) -> None:
        print(line, flush=True)
        self.lines.append(line)

    def save(self, out: Path, name: str) -> None:
        from matplotlib.figure import Figure

        from cdvm.plots import plot_curves

        out.mkdir(parents=True, exist_ok=True)
        figure = Figure(figsize=(7, 4), layout="constrained")
        gains = {dataset: 100 * (curve - curve[0]) for dataset, curve in self.curves.items()}
        ax = plot_curves(np.array(MARKS), gains, ax=figure.subplots(), xlabel="models trained while refining")
        ax.set_ylabel("points of test accuracy over CDVM")
        for kind in ("png", "svg"):
            figure.savefig(out / f"{name}.{kind}", dpi=150)
        text = "\n".join(self.lines)
        (out / f"{name}.md").write_text(f"# Refining, {name}\n\n```text\n{text}\n```\n\n![]({name}.png)\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--protocol", default="clean")
    parser.add_argument("--datasets", nargs="+", default=list(SIX))
    parser.add_argument("--unseen", action="store_true", help=f"take {', '.join(UNSEEN)}")
    parser.add_argument("--budgets", nargs="+", type=int, default=[50, 150, 300], help="of 1,000 rows")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--fits", type=int)
    parser.add_argument("--out", type=Path, help="directory for table and figure")
    given = parser.parse_args()
    protocol = get_protocol(given.protocol).replace(repetitions=given.repetitions)
    datasets = list(UNSEEN) if given.unseen else given.datasets
    report = table(protocol, datasets, given.budgets, given.fits)
    if given.out:
        report.save(given.out, "unseen" if given.unseen else protocol.name)


if __name__ == "__main__":
    main()
