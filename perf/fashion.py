"""Fashion-MNIST, the paper's scaling experiment, in steps that ``perf.scale`` runs one process each."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from cdvm import (
    CDVM,
    Attribution,
    Design,
    Outcomes,
    Program,
    RidgeLearner,
    Split,
    evaluate_sets,
    load_dataset,
    random_sets,
    record_outcomes,
    refine,
    similarity_attribution,
    swap_search,
    top_rows,
)
from cdvm.attribution.base import MatrixAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.optimize.solvers.dispatch import solve

INCLUSION, MODELS, COMPONENTS = 0.01, 5000, 64
BUDGETS = (0.01, 0.05, 0.10, 0.20, 0.30)
CUTOFFS = (0.005, 0.01, 0.02, 0.05, 0.10)
SIMILARITY = 0.0  # stands in the column of cut-offs for T from similarity, without models
SHOWN = {0.005: "0.5 % of T", 0.05: "5 % of T", 1.0: "all of T", SIMILARITY: "similarity"}
CAPS = (1.0, 8.0, 32.0, 128.0)  # kappa = this · max T + S · mean T; the paper's default is 1
DRAWS = 20
SEEDS = 5  # of the rows kept by default


def images(quick: bool) -> Split:
    """Pixels, with half of the test images to choose with and half to report on."""
    data = load_dataset("fashion_mnist").halved_test(0)
    n, m = (3000, 300) if quick else (60_000, 5000)
    return Split.from_arrays(
        data.X[:n], data.y[:n], data.X_val[:m], data.y_val[:m], data.X_test[:m], data.y_test[:m]
    )


def components(quick: bool) -> Split:
    """The same on the leading principal components of the training images."""
    split = images(quick)
    centre = split.X.mean(axis=0)
    axes = np.linalg.eigh((split.X - centre).T @ (split.X - centre))[1][:, -COMPONENTS:]
    parts = {name: (getattr(split, name) - centre) @ axes for name in ("X", "X_val", "X_test")}
    return replace(split, **parts)


def parts_of(split: Split) -> list[tuple]:
    return [(split.X_val, split.y_val), (split.X_test, split.y_test)]


def fashion_outcomes(folder: str, quick: str) -> dict:
    split = components(bool(int(quick)))
    design = Design(split.n_rows, INCLUSION if not int(quick) else 0.03, seed=0)
    started = time.perf_counter()
    outcomes = record_outcomes(
        split,
        RidgeLearner(),
        design,
        range(MODELS // (20 if int(quick) else 1)),
        store=Path(folder) / "ridge",
    )
    return {"seconds": time.perf_counter() - started, "right": outcomes.values().mean()}


def fashion_thin(folder: str, quick: str) -> dict:
    started = time.perf_counter()
    attribution = ImplicitAttribution.from_outcomes(Outcomes.load(Path(folder) / "ridge"))
    built = time.perf_counter()
    thin = attribution.sparsify(max(CUTOFFS))
    done = time.perf_counter()
    thin.save(Path(folder) / "thin.npz")
    (Path(folder) / "max").write_text(str(attribution.max()))
    return {"build": built - started, "sparsify": done - built}


def fashion_once(folder: str, quick: str) -> dict:
    """What a user waits for: T from outcomes, its default kappa, one solve."""
    started = time.perf_counter()
    attribution = ImplicitAttribution.from_outcomes(Outcomes.load(Path(folder) / "ridge"))
    program = Program(attribution, 0.05)
    program.gains  # noqa: B018
    built = time.perf_counter()
    solution = solve(program, "first_order")
    return {
        "build": built - started,
        "solve": time.perf_counter() - built,
        "gap": solution.gap,
        "iterations": solution.iterations,
    }


def fashion_pixels(quick: str, out: str) -> dict:
    """Processor seconds of one core from files of pixels to 5 % of the rows, everything included."""
    told, since = {}, time.process_time()

    def note(name: str) -> None:
        nonlocal since
        told[name], since = time.process_time() - since, time.process_time()

    note("start")
    images(bool(int(quick)))
    note("reading the images")
    split = components(bool(int(quick)))
    told["components"] = time.process_time() - since - told["reading the images"]  # reads them again
    since = time.process_time()
    design = Design(split.n_rows, INCLUSION if not int(quick) else 0.03, seed=0)
    models = range(MODELS // (20 if int(quick) else 1))
    outcomes = record_outcomes(split, RidgeLearner(), design, models, n_jobs=1, progress=False)
    note("models")
    attribution = ImplicitAttribution.from_outcomes(outcomes)
    program = Program(attribution, 0.05)
    program.gains  # noqa: B018
    note("T, its largest entry and sums")
    solution = solve(program, "first_order")
    note("solving")
    rows = top_rows(program, solution.weights)
    note("rounding, largest weights")
    swap_search(program, rows)
    note("rounding, swap search")
    del told["start"]
    (Path(out) / "pixels.json").write_text(json.dumps(told | {"gap": solution.gap}, indent=2) + "\n")
    return told


def fashion_page(out: str) -> dict:
    """The page and the figure again, from what was measured."""
    table, stages = pd.read_parquet(Path(out) / "accuracy.parquet"), Path(out) / "stages.json"
    page = write_page(table, json.loads(stages.read_text()), Path(out), 60_000)
    return {"page": str(page)}


def fashion_default(quick: str, out: str) -> dict:
    """What ``CDVM(learner)`` keeps, beside what was measured before."""
    table = Path(out) / "accuracy.parquet"
    before = pd.read_parquet(table)
    kept = pd.DataFrame(by_default(components(bool(int(quick))), quick))
    found = pd.concat([before[before.method != "default"], kept], ignore_index=True)
    found.to_csv(table.with_suffix(".csv"), index=False)
    found.to_parquet(table, index=False)
    return fashion_page(out)


def by_default(split: Split, quick: str) -> list[dict]:
    """Several ways compared by the model itself, for each budget; processor seconds of one core."""
    found = []
    for seed in range(2 if int(quick) else SEEDS):
        own = {"n_models": MODELS, "inclusion": INCLUSION, "random_state": seed}
        pruner = CDVM(RidgeLearner(), **own, n_jobs=1, progress=False).fit_split(split)
        for budget in BUDGETS:
            started = time.process_time()
            keep = pruner.select(budget)
            seconds = time.process_time() - started
            scores = evaluate_sets(split, RidgeLearner(), [keep.rows], *parts_of(split)).mean(axis=2)
            found.append(row("default", budget, *scores[:, 0], draw=seed, seconds=seconds))
    return found


def fashion_accuracy(folder: str, quick: str, out: str, stages: str) -> dict:
    """Choose rows for every cut-off and budget, score them on both halves, write table, page and figure."""
    split = components(bool(int(quick)))
    implicit = ImplicitAttribution.from_outcomes(Outcomes.load(Path(folder) / "ridge"))
    thin = Attribution.load(Path(folder) / "thin.npz")
    top = float((Path(folder) / "max").read_text())
    implicit.__dict__["_largest"] = top
    rows = [*random_rows(split), all_rows(split)]
    table = Path(out) / "accuracy.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    for cut in (SIMILARITY, *CUTOFFS, 1.0):
        if cut == SIMILARITY:
            attribution: Attribution = similarity_attribution(split)
        else:
            attribution = implicit if cut == 1 else cut_to(thin, cut)
        found, sets = curve(split, attribution, cut, BUDGETS if cut in SHOWN else (0.05,))
        rows += found
        pd.DataFrame(rows).to_csv(table, index=False)
    rows += [*refined(split, pd.DataFrame(found), sets), *by_default(split, quick)]
    pd.DataFrame(rows).to_csv(table, index=False)
    pd.DataFrame(rows).to_parquet(table.with_suffix(".parquet"), index=False)
    (Path(out) / "stages.json").write_text(json.dumps(json.loads(stages), indent=2) + "\n")
    page = write_page(pd.DataFrame(rows), json.loads(stages), Path(out), split.n_rows)
    return {"page": str(page)}


def cut_to(thin: Attribution, fraction: float) -> MatrixAttribution:
    return thin.sparsify(fraction) if fraction < max(CUTOFFS) else thin


def random_rows(split: Split) -> list[dict]:
    found = []
    for budget in BUDGETS:
        sets = random_sets(split.n_rows, round(budget * split.n_rows), DRAWS)
        scores = evaluate_sets(split, RidgeLearner(), sets, *parts_of(split)).mean(axis=2)
        found += [row("random", budget, scores[0, k], scores[1, k], draw=k) for k in range(DRAWS)]
    return found


def all_rows(split: Split) -> dict:
    scores = evaluate_sets(split, RidgeLearner(), [np.arange(split.n_rows)], *parts_of(split))
    return row("all rows", 1.0, scores[0, 0, 0], scores[1, 0, 0])


def row(method: str, budget: float, selection: float, final: float, **more: object) -> dict:
    return {"method": method, "retained": budget, "selection_half": selection, "final_half": final} | more


def curve(
    split: Split, attribution: Attribution, cut: float, budgets: tuple
) -> tuple[list[dict], list[np.ndarray]]:
    """For every budget and cap one solve, warm from the budget before it; figures and rows."""
    base = Program(attribution, budget=1, kappa=0.0)
    mean = float(base.gains.mean()) / base.n_evaluation
    found, sets = [], []
    for cap in CAPS:
        warm = None
        for budget in budgets:
            size = round(budget * split.n_rows)
            program = base.replace(budget=size, kappa=max(0.0, cap * attribution.max() + size * mean))
            warm = solve(program, "first_order", warm=warm, time_limit=120)
            seconds = warm.build_seconds + warm.solve_seconds
            more = {"cut": cut, "cap": cap, "kappa": program.kappa, "gap": warm.gap, "seconds": seconds}
            sets.append(top_rows(program, warm.weights))
            found.append((budget, more))
    scores = evaluate_sets(split, RidgeLearner(), sets, *parts_of(split)).mean(axis=2)
    figures = [row("cdvm", budget, *scores[:, k], **more) for k, (budget, more) in enumerate(found)]
    return figures, sets


def refined(split: Split, found: pd.DataFrame, sets: list[np.ndarray]) -> list[dict]:
    """The best set of each budget, by the half that chooses, improved by retraining."""
    rows = []
    for chosen in best_caps(found).itertuples():
        better = refine(split.rows[sets[chosen.Index]], split, RidgeLearner())
        scores = evaluate_sets(split, RidgeLearner(), [better.rows], *parts_of(split)).mean(axis=2)
        more = {"cut": chosen.cut, "cap": chosen.cap, "seconds": better.seconds}
        rows.append(row("refined", chosen.retained, *scores[:, 0], fits=better.fits, **more))
    return rows


def best_caps(table: pd.DataFrame) -> pd.DataFrame:
    """Per cut-off and budget the cap that does best on the half that chose."""
    mine = table[table.method == "cdvm"]
    return mine.loc[mine.groupby(["cut", "retained"]).selection_half.idxmax()]


def write_page(table: pd.DataFrame, stages: dict, out: Path, n_rows: int) -> Path:
    best, random = best_caps(table), table[table.method == "random"].groupby("retained")
    default = table[(table.method == "cdvm") & (table.cap == 1.0)].set_index(["cut", "retained"])
    whole = table[table.method == "all rows"].iloc[0]
    better = table[table.method == "refined"].set_index("retained")
    usual = table[table.method == "default"].groupby("retained")
    mean, spread = (getattr(random[["selection_half", "final_half"]], stat)() for stat in ("mean", "std"))
    lines = [
        "| rows kept | half | random | "
        + " | ".join(f"CDVM, {name}" for name in SHOWN.values())
        + " | all of T, refined | by default |",
        "| --- " * (5 + len(SHOWN)) + "|",
    ]
    for budget, half in product(BUDGETS, ("selection_half", "final_half")):
        line = (
            f"| {budget:.0%} | {half.split('_')[0]} | {mean[half][budget]:.4f} ± {spread[half][budget]:.4f} |"
        )
        for cut in SHOWN:
            chosen = best[(best.cut == cut) & (best.retained == budget)].iloc[0]
            line += f" {chosen[half]:.4f} ({default.loc[cut, budget][half]:.4f}) |"
        kept = usual.get_group(budget)[half]
        lines.append(f"{line} {better.loc[budget][half]:.4f} | {kept.mean():.4f} ± {kept.std():.4f} |")
    cuts = best[(best.retained == 0.05) & (best.cut > SIMILARITY)].sort_values("cut")
    text = [
        "# Fashion-MNIST with ridge models",
        "",
        f"{n_rows:,} training images, half of the 10,000 test images to choose with (*selection half*), half",
        f"to report on (*final half*). {MODELS:,} ridge classifiers on {COMPONENTS} principal components, "
        f"p = {INCLUSION}; alpha = 0.5;",
        f"kappa = c · max T + S · mean T, c of {', '.join(f'{c:g}' for c in CAPS)} by accuracy on the",
        f"selection half (the default, c = 1, in brackets). Random: {DRAWS} draws. All rows: "
        f"{whole.selection_half:.4f} / {whole.final_half:.4f}.",
        "*Similarity* is T from the 100 nearest rows of every evaluation row, without any model.",
        f"*Refined*: the sets of *all of T* improved by `cdvm.refine` ({better.fits.min():.0f} to "
        f"{better.fits.max():.0f} fits,",
        f"{better.seconds.min():.0f} to {better.seconds.max():.0f} s). *By default*: what",
        f"`CDVM(ridge)` keeps with as many models, {SEEDS} seeds; {usual.seconds.mean().min():.0f} to "
        f"{usual.seconds.mean().max():.0f} processor seconds a budget beside the models.",
        "Made by `python -m perf.scale fashion`.",
        "",
        *lines,
        "",
        "Cut-offs at 5 % of the rows:",
        "",
        "| entries of T kept | selection half | final half | solve, seconds | gap |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {'all' if c.cut == 1 else f'{c.cut:.1%}'} | {c.selection_half:.4f} | {c.final_half:.4f} "
            f"| {c.seconds:.1f} | {c.gap:.2%} |"
            for c in cuts.itertuples()
        ),
        "",
        f"Models {stages['outcomes']['seconds']:.0f} s ({stages['outcomes']['peak']:.2f} GB), T for all "
        f"entries {stages['once']['build']:.0f} s and one solve for 5 % {stages['once']['solve']:.0f} s "
        f"({stages['once']['peak']:.2f} GB), the largest 10 % of T {stages['thin']['sparsify']:.0f} s "
        f"({stages['thin']['peak']:.2f} GB), on two cores. The paper gives 1-10 h of training and 10-30 min "
        "of solving, for a convolutional network: other models, on other machines.",
        "",
        *pixels_told(out / "pixels.json"),
        "![accuracy](accuracy.png)",
        "",
    ]
    page = out / "README.md"
    page.write_text("\n".join(text))
    draw(best, better, mean, spread, whole, out)
    return page


def pixels_told(file: Path) -> list[str]:
    """From pixels to rows, as far as it was measured."""
    if not file.exists():
        return []
    told = json.loads(file.read_text())
    told.pop("gap")
    whole = sum(told.values())
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in told.items())
    return [
        f"From files of pixels to 5 % of the rows, everything included, T never formed, processor seconds of "
        f"one core (`python -m perf.scale pixels`): {whole:.0f} s ({parts}).",
        "",
    ]


def draw(
    best: pd.DataFrame,
    better: pd.DataFrame,
    mean: pd.DataFrame,
    spread: pd.DataFrame,
    whole: pd.Series,
    out: Path,
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from cdvm.plots import PALETTE, plot_curves

    figure, axes = pyplot.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    for ax, half in zip(axes, ("selection_half", "final_half"), strict=False):
        curves = {
            f"CDVM, {name}": best[best.cut == cut].sort_values("retained")[half]
            for cut, name in SHOWN.items()
        } | {"all of T, refined": better.sort_index()[half]}
        plot_curves(
            np.array(BUDGETS) * 100,
            curves,
            random=(mean[half], spread[half]),
            all_rows=float(whole[half]),
            ax=ax,
            xlabel="% of rows kept",
        )
        ax.set_title(f"ridge on {COMPONENTS} components, {half.replace('_', ' ')}")
    cuts = best[(best.retained == 0.05) & (best.cut > SIMILARITY)].sort_values("cut")
    names = ["all" if cut == 1 else f"{100 * cut:g}" for cut in cuts.cut]
    for (half, marker), color in zip((("selection_half", "o"), ("final_half", "s")), PALETTE, strict=False):
        axes[2].plot(names, cuts[half], marker=marker, color=color, label=half.replace("_", " "))
        axes[2].axhline(mean[half][0.05], color=color, linestyle=":", linewidth=1)
    axes[2].set(xlabel="% of T's entries kept", ylabel="accuracy", title="cut-offs, 5 % of the rows")
    axes[2].legend(title="dotted: random rows", frameon=False, loc="center left", bbox_to_anchor=(0, 0.37))
    axes[3].bar(names, cuts.seconds, color=PALETTE[0])
    axes[3].set(xlabel="% of T's entries kept", ylabel="seconds to solve for 5 %", title="one solve")
    for kind in ("png", "svg"):
        figure.savefig(out / f"accuracy.{kind}", dpi=150)
