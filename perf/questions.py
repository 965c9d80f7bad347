"""The questions after "which rows": ``python -m perf.questions promise plain logistic costs update domain``.

*promise*: the smallest set within one point of all rows, by ``CDVM.smallest``, and what it loses on rows held
out from everything; *plain*: the same without refining; *logistic*: as ``cdvm prune --within 1%`` finds it
when nothing else is said. *costs*: at equal spending, rows chosen with their prices in the program, by value
per price, without regard to prices, and at random. *update*: rows that come in later, by ``CDVM.update`` and
by a fit of all rows anew. *domain*: rows for another domain, by evaluation rows from there and from here.

One line of JSON for every setting in ``<question>.jsonl``; lines that are there are not computed again, so a
run that was stopped goes on with the same command. ``--table`` writes ``README.md`` beside them.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from cdvm import CDVM, InputError, Subsets
from cdvm.datasets import load_dataset
from perf.kept import Line, keep, read

TUNING = {"optdigits": "class", "fried": "binaryClass", "phoneme": "class", "page-blocks0": "class"}
TABLES = {
    "promise": ("digits", "optdigits", "nomao", "adult", "fried"),
    "plain": ("digits", "optdigits", "nomao", "adult", "fried"),
    "logistic": ("digits", "optdigits", "nomao", "adult", "fried"),
    "costs": ("digits", "nomao", "adult"),
    "update": ("digits", "optdigits", "nomao", "adult"),
    "domain": ("turned digits", "digits with more ink", "people of 60 and over"),
}
SPENT = (0.05, 0.1, 0.2)
N_MODELS = 1000
FITS = 300  # of the set that is kept; 100 without each fold


def load(name: str, n_rows: int, number: int, others: int = 5000) -> tuple[Any, Any, Any, Any]:
    """Rows to choose from and up to so many others, of one random order for each number."""
    if name in TUNING:
        path = Path(os.environ["CDVM_DATA_HOME"]) / "tuning" / f"{name}.csv.gz"
        with gzip.open(path) as file:
            frame = pd.read_csv(file)
        y = frame.pop(TUNING[name]).astype(str).to_numpy()
        X = frame.drop(columns=["Y"], errors="ignore").to_numpy(dtype=np.float64)
    else:
        table = load_dataset(name)
        X, y = np.asarray(table.X, dtype=np.float64), np.asarray(table.y)
    order = np.random.default_rng(number).permutation(len(y))
    n_rows = min(n_rows, int(0.7 * len(y)))
    train, test = order[:n_rows], order[n_rows : n_rows + others]
    return X[train], y[train], X[test], y[test]


def pruner_of(number: int, **more: Any) -> CDVM:
    settings: Line = {"n_models": N_MODELS, "random_state": number, "n_jobs": 1, "progress": False}
    return CDVM(**{"learner": "logistic", "effort": "low"} | settings | more)


def correct(pruner: CDVM, table: Any, sets: list[Any], X: Any, y: Any) -> Any:
    """Whether models on each set of a table's rows are right, for every other row: (n_sets, n_rows)."""
    split = pruner.split_
    shown = StandardScaler().fit(table).transform(X)  # as the pruner shows rows to models
    answers = pruner.learner_.bind(split, shown).predict(Subsets.of(sets, split.n_rows))
    return answers == np.searchsorted(split.classes, y)


def promise(
    name: str, number: int, n_rows: int, refine: bool | None = None, pruner: CDVM | None = None
) -> Iterator[Line]:
    """The smallest set within a point of all rows, and what it loses on all rows that there are besides."""
    X, y, X_test, y_test = load(name, n_rows, number, 50_000)
    started = time.process_time()
    pruner = pruner or pruner_of(number, learner="ridge", refine=FITS)
    pruner.fit(X, y)
    line: Line = {"within": 0.01, "confidence": 0.9, "held_out": len(y_test)}
    try:
        found = pruner.smallest(0.01, confidence=0.9, refine=refine)
    except InputError as error:
        yield line | {"refused": str(error), "seconds": time.process_time() - started}
        return
    line |= {"seconds": time.process_time() - started, "estimate": found.point.loss}
    line |= {"estimate_error": found.point.loss_error, "set_error": found.point.set_error}
    line |= {"asked": found.point.n_rows, "tried": [[p.fraction, p.loss] for p in found.curve.points]}
    if found.selection is None:
        yield line | {"fraction": None}
        return
    kept, whole = correct(pruner, X, [found.selection.rows, np.arange(len(y))], X_test, y_test) * 1.0
    apart = whole - kept
    line |= {"fraction": found.selection.retained, "loss": apart.mean(), "whole": whole.mean()}
    yield line | {"loss_error": apart.std(ddof=1) / np.sqrt(len(apart)), "kept": bool(apart.mean() <= 0.01)}


def by_default(name: str, number: int, n_rows: int) -> Iterator[Line]:
    """The promise of a pruner that was told nothing."""
    return promise(name, number, n_rows, pruner=CDVM(random_state=number, n_jobs=1, progress=False))


def costs(name: str, number: int, n_rows: int) -> Iterator[Line]:
    """Accuracy at equal spending, by the way of choosing."""
    X, y, X_test, y_test = load(name, n_rows, number)
    rng = np.random.default_rng([number, 1])
    # uneven for no reason, and dearer where a label is rare
    _, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    price = rng.lognormal(0.0, 1.0, len(y)) * (counts.max() / counts[code]) ** 0.5
    pruner = pruner_of(number, solver="first_order").fit(X, y)
    values = pruner.attribution_.values()
    for part in SPENT:
        spend = part * price.sum()
        sets = {
            "program": pruner.select(spend, costs=price).rows,
            "value per price": _affordable(np.argsort(-values / price), price, spend),
            "value": _affordable(np.argsort(-values), price, spend),
            "without prices": _without_prices(pruner, price, spend),
        }
        random = [_affordable(rng.permutation(len(y)), price, spend) for _ in range(5)]
        right = correct(pruner, X, [*sets.values(), *random], X_test, y_test).mean(axis=1)
        found = dict(zip(sets, right.tolist(), strict=False)) | {"random": right[len(sets) :].mean()}
        rows = {way: len(some) for way, some in sets.items()}
        yield {"part": part, "accuracy": found, "rows": rows}


def _affordable(order: Any, price: Any, spend: float) -> Any:
    """Rows in order, each that the rest of the money is enough for."""
    left, chosen = spend, []
    for row in order:
        if price[row] <= left:
            chosen.append(row)
            left -= price[row]
    return np.sort(chosen)


def _without_prices(pruner: CDVM, price: Any, spend: float) -> Any:
    """The most rows that the program without prices may keep for the money."""
    low, high = 1, len(price)
    best = pruner.select(1).rows
    for _ in range(8):
        size = (low + high) // 2
        rows = pruner.select(size).rows
        if price[rows].sum() <= spend:
            low, best = size, rows
        else:
            high = size
    return best


def update(name: str, number: int, n_rows: int) -> Iterator[Line]:
    """Seconds and accuracy of rows that come in later, and of two fits of all rows."""
    X, y, X_test, y_test = load(name, n_rows, number)
    old, settings = round(len(y) / 1.1), {"n_models": 3000, "solver": "first_order"}
    grown = pruner_of(number, **settings).fit(X[:old], y[:old])
    started = time.process_time()
    grown.update(X[old:], y[old:])
    seconds = {"update": time.process_time() - started}
    started = time.process_time()
    anew = pruner_of(number + 1000, **settings).fit(X, y)
    seconds["anew"] = time.process_time() - started
    again = pruner_of(number + 2000, **settings).fit(X, y)
    pruners = {"update": grown, "anew": anew, "again": again}
    T = {way: pruner.attribution_.dense().ravel() for way, pruner in pruners.items()}
    alike = {way: float(np.corrcoef(T[way], T["again"])[0, 1]) for way in ("update", "anew")}
    for part in (0.05, 0.1, 0.3):
        sets = {way: pruner.select(part).rows for way, pruner in pruners.items()}
        right = correct(anew, X, list(sets.values()), X_test, y_test).mean(axis=1)
        shared = {way: float(np.isin(sets[way], sets["again"]).mean()) for way in ("update", "anew")}
        line = {"part": part, "accuracy": dict(zip(sets, right.tolist(), strict=True)), "shared": shared}
        yield line | {"seconds": seconds, "correlation": alike}


def domain(name: str, number: int, n_rows: int) -> Iterator[Line]:
    """Accuracy on rows of another domain, of rows chosen for it and for the domain they are from."""
    X, y, other = _domains(name)
    rng = np.random.default_rng(number)
    there = rng.permutation(np.flatnonzero(other))
    target, test = there[:150], there[150 : 150 + min(2000, (len(there) - 150) * 2 // 3)]
    here = rng.permutation(np.setdiff1d(np.arange(len(y)), np.r_[target, test]))
    source, pool = here[:150], here[150 : 150 + n_rows]
    for refine in (False, {"fits": 600, "evaluation": "validation"}):
        sets, pruner = {}, pruner_of(number, solver="first_order", refine=refine)
        for way, rows in (("target", target), ("source", source)):
            pruner.fit(X[pool], y[pool], X[rows], y[rows])
            sets[way] = [pruner.select(part).rows for part in (0.05, 0.1)]
        for k, part in enumerate((0.05, 0.1)):
            draws = [rng.choice(len(pool), len(sets["target"][k]), replace=False) for _ in range(5)]
            chosen = [sets["target"][k], sets["source"][k], *draws]
            right = correct(pruner, X[pool], chosen, X[test], y[test]).mean(axis=1)
            found = {"target": right[0], "source": right[1], "random": right[2:].mean()}
            yield {"part": part, "refined": bool(refine), "accuracy": found, "there": other[pool].mean()}


def _domains(name: str) -> tuple[Any, Any, Any]:
    """Rows of two domains, and which are of the other."""
    if name == "people of 60 and over":
        table = load_dataset("adult")
        X = np.asarray(table.X, dtype=np.float64)
        return X, np.asarray(table.y), X[:, list(table.table.columns).index("age")] >= 60
    X, y = load_digits(return_X_y=True)
    if name == "digits with more ink":
        return X, y, X.sum(axis=1) > np.quantile(X.sum(axis=1), 0.75)
    turned = np.random.default_rng(0).random(len(y)) < 0.25
    X[turned] = np.rot90(X[turned].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)
    return X, y, turned


QUESTIONS: dict[str, Callable[[str, int, int], Iterator[Line]]] = {
    "promise": promise,
    "plain": partial(promise, refine=False),
    "logistic": by_default,
    "costs": costs,
    "update": update,
    "domain": domain,
}


def run(options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    for number in options.splits:
        for question in options.questions:
            path = options.out / f"{question}.jsonl"
            done = {(line["table"], line["split"], line["n_rows"]) for line in read(path)}
            for name in TABLES[question]:
                if (name, number, options.rows) in done:
                    continue
                head = {"table": name, "split": number, "n_rows": options.rows}
                lines = [head | line for line in QUESTIONS[question](name, number, options.rows)]
                keep(path, *lines)
                print(question, lines[-1], flush=True)


def page(out: Path) -> str:
    """What was found, as Markdown."""
    text = ["# The questions people ask next"]
    ways = {"ridge, refined": "promise", "ridge": "plain", "by default": "logistic"}
    text += _promises({way: read(out / f"{name}.jsonl") for way, name in ways.items()})
    text += [*_costs(read(out / "costs.jsonl")), *_updates(read(out / "update.jsonl"))]
    text += _other_domains(read(out / "domain.jsonl"))
    return "\n".join(text) + "\n"


def _groups(lines: list[Line], *keys: str) -> dict[tuple[Any, ...], list[Line]]:
    found: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        found.setdefault(tuple(line[key] for key in keys), []).append(line)
    return found


def _promises(ways: dict[str, list[Line]]) -> Iterator[str]:
    lines = [line | {"way": way} for way, some in ways.items() for line in some]
    if not lines:
        return
    yield "\n## Within one point of all rows, confidence 90 %\n"
    yield f"`CDVM('ridge', n_models={N_MODELS}, refine={FITS}).smallest(0.01)`, or with `refine=False`, and"
    yield "`CDVM().smallest(0.01)`, which is `cdvm prune --within 1%`: 5,000 logistic models, refined;"
    yield "processor seconds of one core. A promise is broken where a set was found that loses more than a"
    yield "point on all rows of the table that were held out, clearly where it does so by 1.64 standard"
    yield "errors of that loss. *p* is the chance of as many broken ones or more among the sets found if one"
    yield "in ten is. In splits without a set none of up to 80 % was good enough, or there were too few rows"
    yield "to tell."
    yield "digits has 1,797 rows: 1,257 to choose from, and what is held out tells the loss ± .5 points.\n"
    yield (
        "| table | models | rows | held out | splits | set found | rows kept, median (least to most) | "
        "points lost, estimate | held out, mean ± SE | all rows | broken | clearly | p | seconds |"
    )
    yield "| --- " * 14 + "|"
    for (name, way, rows, held), group in _groups(lines, "table", "way", "n_rows", "held_out").items():
        found = [line for line in group if line.get("fraction") is not None]
        cells = [name, way, min(rows, 1257) if name == "digits" else rows, held, len(group), len(found)]
        if found:
            kept, estimate, loss, whole = (
                np.array([line[key] for line in found]) for key in ("fraction", "estimate", "loss", "whole")
            )
            broken = sum(not line["kept"] for line in found)
            clearly = sum(line["loss"] - 1.64 * line["loss_error"] > 0.01 for line in found)
            error = f" ± {100 * loss.std(ddof=1) / np.sqrt(len(loss)):.2f}" if len(loss) > 1 else ""
            cells += [f"{np.median(kept):.0%} ({kept.min():.0%} to {kept.max():.0%})"]
            cells += [f"{100 * estimate.mean():.2f}", f"{100 * loss.mean():.2f}{error}"]
            cells += [f"{whole.mean():.3f}", f"{broken} of {len(found)}", clearly]
            cells += [f"{binom.sf(broken - 1, len(found), 0.1):.2f}"]
        else:
            cells += [""] * 7
        yield _line([*cells, f"{np.mean([line['seconds'] for line in group]):.0f}"])


def _costs(lines: list[Line]) -> Iterator[str]:
    if not lines:
        return
    ways = list(lines[0]["accuracy"])
    yield "\n## Rows with prices\n"
    yield "Accuracy on held-out rows at equal spending; in parentheses, splits with the program above.\n"
    yield "| table | spent | splits | " + " | ".join(ways) + " |"
    yield "| --- " * (3 + len(ways)) + "|"
    for (name, part), group in _groups(lines, "table", "part").items():
        scores = {way: np.array([line["accuracy"][way] for line in group]) for way in ways}
        cells = [name, f"{part:.0%}", len(group), f"**{scores[ways[0]].mean():.4f}**"]
        for way in ways[1:]:
            cells.append(f"{scores[way].mean():.4f} ({np.sum(scores[ways[0]] > scores[way])})")
        yield _line(cells)


def _updates(lines: list[Line]) -> Iterator[str]:
    if not lines:
        return
    yield "\n## A tenth more rows\n"
    yield "`update` against a fit of all rows anew, 3,000 models: seconds of one core; accuracy on other rows"
    yield "of models on the rows that each keeps, and the difference with its standard error; the rows that a"
    yield "second fit with another seed keeps too, and the correlation of the entries of T with its own.\n"
    yield (
        "| table | kept | splits | seconds, update | anew | accuracy, update | anew | difference | "
        "kept by both, update | anew | T, update | anew |"
    )
    yield "| --- " * 12 + "|"
    for (name, part), group in _groups(lines, "table", "part").items():
        found = {
            key: {way: np.array([line[key][way] for line in group]) for way in ("update", "anew")}
            for key in ("seconds", "accuracy", "shared", "correlation")
        }
        apart = found["accuracy"]["update"] - found["accuracy"]["anew"]
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        cells = [name, f"{part:.0%}", len(group), *(f"{s.mean():.1f}" for s in found["seconds"].values())]
        cells += [*(f"{s.mean():.4f}" for s in found["accuracy"].values())]
        cells += [
            f"{apart.mean():+.4f} ± {error:.4f}",
            *(f"{s.mean():.0%}" for s in found["shared"].values()),
        ]
        yield _line([*cells, *(f"{s.mean():.2f}" for s in found["correlation"].values())])


def _other_domains(lines: list[Line]) -> Iterator[str]:
    if not lines:
        return
    yield "\n## Another domain\n"
    yield "Accuracy on further rows of the target domain, of models on rows chosen with 150 evaluation rows"
    yield "of it, with 150 of the source domain, and at random; refined by these evaluation rows alone.\n"
    yield "| target | of it in the pool | kept | refined | splits | target | source | random | difference |"
    yield "| --- " * 9 + "|"
    for (name, refined, part), group in _groups(lines, "table", "refined", "part").items():
        found = [
            np.array([line["accuracy"][way] for line in group]) for way in ("target", "source", "random")
        ]
        apart = found[0] - found[1]
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        there = np.mean([line["there"] for line in group])
        cells = [name, f"{there:.0%}", f"{part:.0%}", "yes" if refined else "no", len(group)]
        yield _line([*cells, *(f"{s.mean():.3f}" for s in found), f"{apart.mean():+.3f} ± {error:.3f}"])


def _line(cells: list[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.questions", description=__doc__)
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--out", type=Path, default=Path("results/questions"))
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--table", action="store_true", help="write README.md of the lines there are")
    options = parser.parse_args()
    if options.table:
        (options.out / "README.md").write_text(page(options.out), encoding="utf-8")
        return
    warnings.simplefilter("ignore")
    run(options)


if __name__ == "__main__":
    main()
