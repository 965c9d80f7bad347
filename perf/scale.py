"""How far it goes: ``python -m perf.scale [SECTION …] [--quick] [--out DIR]``.

fashion   Fashion-MNIST end to end with ridge models on 64 principal components: seconds, memory, accuracy
          against random rows, sparsity cut-offs; table and figure into DIR (default
          results/fashion_mnist; with --quick they are not kept)
default   (only if named) of fashion again the rows kept by default, for every budget and five seeds; into DIR
pixels    processor seconds from the files of its pixels to 5 % of its rows, everything included; into DIR
growth    fit and select from 1,000 to 1,000,000 rows under a memory limit
workers   two workers against one; wants a machine that does nothing else
imagenet  ImageNet's shape with generated outcomes: memory, seconds a product, seconds a solve
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cdvm import CDVM, Design, ImplicitAttribution, Program, make_learner, record_outcomes
from cdvm.attribution.bits import Bits
from cdvm.attribution.membership import MembershipMatrix
from cdvm.data.split import Split
from cdvm.optimize.solvers.dispatch import solve
from perf import fashion

SECTIONS = ("fashion", "default", "pixels", "growth", "workers", "imagenet")


def child(task: str, *arguments: object) -> dict:
    """Run a task in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "perf.scale", "--child", task, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def section_fashion(args: argparse.Namespace) -> None:
    print("fashion: 60,000 rows, 5,000 + 5,000 evaluation rows and test rows, 5,000 ridge models, p = 0.01")
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(args.store or scratch)
        made = child("fashion_outcomes", folder, int(args.quick))
        print(f"   outcomes {made['seconds']:.1f} s, peak {made['peak']:.2f} GB", flush=True)
        thin = child("fashion_thin", folder, int(args.quick))
        print(
            f"   T built in {thin['build']:.1f} s, its largest 10 % in {thin['sparsify']:.1f} s, "
            f"peak {thin['peak']:.2f} GB",
            flush=True,
        )
        once = child("fashion_once", folder, int(args.quick))
        whole = made["seconds"] + once["build"] + once["solve"]
        print(
            f"   end to end for 5 %, T never formed: {made['seconds']:.0f} s of models + "
            f"{once['build']:.0f} s of T + {once['solve']:.0f} s of solving = {whole:.0f} s, "
            f"gap {once['gap']:.2%}, peak {max(made['peak'], once['peak']):.2f} GB; "
            "the paper: 1-10 h + 10-30 min",
            flush=True,
        )
        stages = {"outcomes": made, "thin": thin, "once": once}
        out = args.out or (scratch if args.quick else "results/fashion_mnist")
        result = child("fashion_accuracy", folder, int(args.quick), out, json.dumps(stages))
        print(Path(result["page"]).read_text())


def section_default(args: argparse.Namespace) -> None:
    out = args.out or "results/fashion_mnist"
    print(Path(child("fashion_default", int(args.quick), out)["page"]).read_text())


def section_pixels(args: argparse.Namespace) -> None:
    out = args.out or "results/fashion_mnist"
    told = child("fashion_pixels", int(args.quick), out)
    print("pixels: " + ", ".join(f"{name} {value:.1f}" for name, value in told.items()))
    if not args.quick:
        print(child("fashion_page", out)["page"])


def section_growth(args: argparse.Namespace) -> None:
    models = 100 if args.quick else 500
    print(
        f"growth: 20 features, {models} ridge models, p = 0.03, 2,000 evaluation rows, "
        "memory_limit 4GB, S = 5 %"
    )
    for n in (1000, 10_000) if args.quick else (1000, 10_000, 100_000, 1_000_000):
        r = child("growth", n, models, "4GB")
        print(
            f"   n = {n:9,d}  models {r['outcomes']:7.1f} s, T {r['attribution']:6.1f} s, "
            f"select {r['select']:7.1f} s (gap {r['gap']:.2%}), peak {r['peak']:.2f} GB",
            flush=True,
        )


def section_workers(args: argparse.Namespace) -> None:
    print("workers: seconds to record outcomes with one worker and with two (goal 1.6x)")
    for name in ("ridge", "logistic", "decision_tree"):
        one, two = (child("workers", name, jobs, int(args.quick))["seconds"] for jobs in (1, 2))
        print(f"   {name:14s} {one:6.1f} s {two:6.1f} s  {one / two:.2f}x", flush=True)


def section_imagenet(args: argparse.Namespace) -> None:
    shape = (20_000, 1000, 200) if args.quick else (1_281_167, 50_000, 2000)
    r = child("imagenet", *shape)
    print(
        f"imagenet: {shape[0]:,} rows, {shape[1]:,} evaluation rows, {shape[2]:,} models, p = 0.03, "
        "made-up outcomes\n"
        f"   drawn and generated in {r['build']:.0f} s; membership {r['members']:.0f} MB, outcomes "
        f"{r['outcomes']:.0f} MB, T as an array would be {r['array']:.0f} GB\n"
        f"   a product with T {1e3 * r['matvec']:.0f} ms, with its transpose {1e3 * r['rmatvec']:.0f} ms\n"
        f"   S = 5 %: {r['solve']:.0f} s, {r['iterations']} iterations, certified gap {r['gap']:.2%}, "
        f"peak {r['peak']:.2f} GB",
        flush=True,
    )


def generated(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 20))
    signal = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, (signal > 0).astype(np.int64)


def growth(n: str, models: str, limit: str) -> dict:
    rng = np.random.default_rng(0)
    X, y = generated(int(n), rng)
    pruner = CDVM(
        "ridge",
        effort="low",
        n_models=int(models),
        inclusion=0.03,
        scale=False,
        memory_limit=limit,
        random_state=0,
    )
    marks = [time.perf_counter()]
    pruner.fit(X, y, *generated(2000, rng))
    marks.append(time.perf_counter())
    ImplicitAttribution.from_outcomes(pruner.outcomes_, compact=True)
    marks.append(time.perf_counter())
    chosen = pruner.select(0.05)
    marks.append(time.perf_counter())
    fit, again, select = np.diff(marks)
    return {"outcomes": fit - again, "attribution": again, "select": select, "gap": chosen.gap}


def workers(name: str, jobs: str, quick: str) -> dict:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    split = Split.from_arrays(X[:1500] / 16, y[:1500], random_state=0)
    count = {"ridge": 40_000, "logistic": 20_000, "decision_tree": 4000}[name] // (20 if int(quick) else 1)
    design = Design(split.n_rows, 0.03, seed=0)
    learner = make_learner(name)
    record_outcomes(split, learner, design, range(50), n_jobs=int(jobs))  # workers started, code loaded
    best = np.inf
    for _ in range(3):
        started = time.perf_counter()
        record_outcomes(split, learner, design, range(count), n_jobs=int(jobs))
        best = min(best, time.perf_counter() - started)
    return {"seconds": best}


def imagenet(n: str, m: str, models: str) -> dict:
    """Models know a class the better the more of its rows they saw; some evaluation rows are harder."""
    n_rows, n_evaluation, n_models, classes = int(n), int(m), int(models), 1000
    rng = np.random.default_rng(0)
    label, classes_of_evaluation = rng.integers(0, classes, n_rows), rng.integers(0, classes, n_evaluation)
    design = Design(n_rows, 0.03, seed=0)
    met = np.zeros((n_models, classes), dtype=np.float32)

    def drawn():
        for start in range(0, n_models, 50):
            subsets = design.take(range(start, min(start + 50, n_models)))
            for k in range(len(subsets)):
                met[start + k] = np.bincount(label[subsets.rows(k)], minlength=classes)
            yield subsets.members

    started = time.perf_counter()
    seen_by = MembershipMatrix.stacked(drawn(), n_rows, narrow=True)
    skill = 1.5 * (met - met.mean()) / met.std()
    hard = rng.normal(0.5, 1.5, n_evaluation).astype(np.float32)
    packed = np.concatenate(
        [
            np.packbits(
                rng.random(n_evaluation, dtype=np.float32)
                < 1 / (1 + np.exp(hard - row[classes_of_evaluation]))
            )[None]
            for row in skill
        ]
    )
    attribution = ImplicitAttribution(seen_by, Bits(packed, n_evaluation))
    build = time.perf_counter() - started
    lam, w = rng.random(n_evaluation), rng.random(n_rows)
    seconds = {}
    for name, vector in (("matvec", lam), ("rmatvec", w)):
        begun = time.perf_counter()
        for _ in range(5):
            getattr(attribution, name)(vector)
        seconds[name] = (time.perf_counter() - begun) / 5
    size = n_rows // 20
    sample = rng.choice(n_rows, min(n_rows, 2000), replace=False)
    kappa = float(attribution.block(np.sort(sample)).max()) + size * float(attribution.values().mean())
    solution = solve(Program(attribution, size, kappa=kappa), "first_order", tolerance=1e-2)
    return seconds | {
        "build": build,
        "members": seen_by.nbytes / 1e6,
        "outcomes": packed.nbytes / 1e6,
        "array": 4 * n_rows * n_evaluation / 1e9,
        "solve": solution.build_seconds + solution.solve_seconds,
        "iterations": solution.iterations,
        "gap": solution.gap,
        "kappa": kappa,
    }


def run_child(task: str, arguments: list[str]) -> None:
    own = {"growth": growth, "workers": workers, "imagenet": imagenet}
    result = own[task](*arguments) if task in own else getattr(fashion, task)(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps(result | {"peak": peak}, default=float))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="of " + ", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument("--out", help="where Fashion-MNIST's table, page and figure go")
    parser.add_argument("--store", help="directory to keep Fashion-MNIST's outcomes in")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        run_child(args.child[0], args.child[1:])
        return
    unknown = [name for name in args.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    if args.quick and not args.out and "default" in args.sections:
        parser.error("default adds to the table in DIR: with --quick, name one of a quick run by --out")
    for name in args.sections or [name for name in SECTIONS if name != "default"]:
        globals()[f"section_{name}"](args)


if __name__ == "__main__":
    main()
