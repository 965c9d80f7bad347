"""Results made by hand: what a run would have written, from a formula."""

import io

import numpy as np
import pandas as pd
from rich.console import Console

from cdvm.benchmark.protocol import Protocol

# A protocol that takes a second.
TINY = Protocol(
    "small",
    train=80,
    validation=40,
    test=40,
    noise=0.1,
    scaling="table",
    model="paper",
    budgets=(8, 16),
    repetitions=3,
    random_draws=2,
)

BUDGETS = (50, 100, 150, 200, 250, 300)
SKILL = {
    "CDVM+refine": 0.20,
    "CDVM5k": 0.14,
    "CDVM10k": 0.15,
    "CDVM": 0.13,
    "CDVM5k-nokappa": 0.02,
    "InfOpt": 0.10,
    "DataOOB": 0.09,
    "Banzhaf": 0.01,
    "Random": 0.05,
}
VARIANTS = {
    "CDVM3k": 0.12,
    "CDVM5k-p02": 0.13,
    "CDVM5k-p05": 0.145,
    "CDVM5k-p10": 0.15,
    "CDVM3k-nokappa": 0.01,
    "CDVM10k-nokappa": 0.03,
}
GRID = (0.2, 0.5, 0.8, 1.2, 1.6)


def line(
    dataset, method, budget, repetition, accuracy, *, draw=0, n=1000, protocol="paper", kept=None, **more
):
    """One row of results."""
    return {
        "protocol": protocol,
        "dataset": dataset,
        "method": method,
        "budget": budget,
        "retained": budget / n,
        "repetition": repetition,
        "draw": draw,
        "accuracy": accuracy,
        "worst_class": accuracy - 0.1,
        "validation": np.nan,
        "alpha": np.nan,
        "kappa": np.nan,
        "gap": np.nan,
        "optimism": np.nan,
        "fits": np.nan,
        "seconds_prepare": 1.0,
        "seconds_optimise": 0.5,
        "seed": repetition,
        "versions": "cdvm 0",
        "kept": np.arange(budget, dtype=np.int32) if kept is None else np.asarray(kept, dtype=np.int32),
    } | more


def frame_of(*lines):
    return pd.DataFrame(lines)


FEW = (
    line("pol", "CDVM5k", 50, 0, 0.74),
    line("pol", "CDVM5k", 50, 1, 0.76),
    line("pol", "Random", 50, 0, 0.66),
    line("pol", "Random", 50, 1, 0.68),
)


def shown(report, width=100):
    """A table as the terminal shows it."""
    console = Console(width=width, file=io.StringIO())
    console.print(report.rich())
    return console.file.getvalue()


def curves(ax):
    return {found.get_label(): found for found in ax.lines}


def run(datasets=("pol", "nomao", "cifar10"), repetitions=4, protocol="paper", ablations=True, seed=0):
    """A whole run: every method, and the variants of the ablations."""
    rng = np.random.default_rng(seed)
    lines = []
    for number, dataset in enumerate(datasets):
        worth = rng.random(1000)
        for repetition in range(repetitions):
            for method, skill in {**SKILL, **(VARIANTS if ablations else {})}.items():
                lines += _curve(rng, dataset, number, method, skill, repetition, protocol, worth, BUDGETS)
            if dataset == "nomao":
                lines += _curve(rng, dataset, number, "CDVM-n", 0.16, repetition, protocol, worth, BUDGETS)
            lines.append(line(dataset, "All", 1000, repetition, 0.85 - 0.03 * number, protocol=protocol))
            if ablations:
                far = (*BUDGETS, 400, 600, 800, 1000)
                for method, skill in {"Banzhaf10k": 0.0, "DataOOB-high": 0.04, "CDVM5k@5": 0.1}.items():
                    lines += _curve(rng, dataset, number, method, skill, repetition, protocol, worth, far)
                for method in ("Banzhaf", "Random", "DataOOB"):
                    lines += _curve(
                        rng, dataset, number, method, SKILL[method], repetition, protocol, worth, far[6:]
                    )
    return pd.DataFrame(lines)


def _curve(rng, dataset, number, method, skill, repetition, protocol, worth, budgets):
    for budget in budgets:
        fraction = budget / 1000
        mean = 0.62 - 0.03 * number + 0.18 * fraction**0.5 + skill * (1 - fraction)
        for draw in range(2 if method == "Random" else 1):
            kept = np.sort(np.argsort(worth + 0.5 * rng.random(1000))[:budget])
            more = {}
            if method in {"CDVM5k", "CDVM10k"}:
                more = {"kappa": GRID[min(budget // 60, 4)], "alpha": float(rng.choice([0.0, 0.3, 0.6, 1.0]))}
            if method == "CDVM+refine":
                more = {"fits": 5000, "optimism": 0.01, "seconds_optimise": 4.0}
            yield line(
                dataset,
                method,
                budget,
                repetition,
                mean + 0.01 * rng.standard_normal(),
                draw=draw,
                protocol=protocol,
                kept=kept,
                **more,
            )
