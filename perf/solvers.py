"""Solvers against their peers: ``python -m perf.solvers [--only a,b,c,d] [--quick] [--full]``.

a  54 programs on a real 1000 × 500 attribution: path, CVXPY, CVXPY with HiGHS, HiGHS
b  Fashion-MNIST's shape: implicit T, sparse T, OR-tools' PDLP on sparse T, all to a certified 1 % gap
c  growth of an iteration from 1,000 to 1,000,000 rows
d  what rounding loses, and what the swap search wins back
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse

from cdvm.attribution.base import Attribution, MatrixAttribution
from cdvm.optimize.path import solve_path
from cdvm.optimize.program import Program
from cdvm.optimize.rounding import loss_of, swap_search, top_rows
from cdvm.optimize.solvers.base import Solution, finish
from cdvm.optimize.solvers.dispatch import solve
from cdvm.optimize.solvers.first_order import solve_first_order
from perf import problems
from perf.kept import keep, machine

ALPHAS, FACTORS = (0.5, 0.3, 0.1), (0.5, 1.0, 2.0)
GAP = 1e-2


def grid(matrix: np.ndarray, quick: bool) -> list[Program]:
    budgets = (50, 300) if quick else (50, 100, 150, 200, 250, 300)
    base = Program(matrix, budget=50)
    automatic = {s: base.replace(budget=s, kappa="auto").kappa for s in budgets}
    return [
        base.replace(budget=s, alpha=a, kappa=f * automatic[s])
        for s, a, f in product(budgets, ALPHAS, FACTORS)
    ]


def solve_grid(programs: list[Program]) -> tuple[float, list[Solution]]:
    """All programs through solve_path: kappa depends on the budget, so one path a budget."""
    started = time.perf_counter()
    found: dict[tuple[float, float, float], Solution] = {}
    for size in dict.fromkeys(p.budget for p in programs):
        kappas = dict.fromkeys(p.kappa for p in programs if p.budget == size)
        for (_, alpha, kappa), solution in solve_path(programs[0], [size], ALPHAS, list(kappas)).items():
            found[size, alpha, float(kappa)] = solution
    elapsed = time.perf_counter() - started
    return elapsed, [found[p.budget, p.alpha, p.kappa] for p in programs]


def with_cvxpy(programs: list[Program], most_seconds: float, **options: object) -> tuple[float, float, int]:
    """Seconds to compile the parametrised problem once, seconds a program after that, and programs solved."""
    import cvxpy as cp

    matrix = programs[0].attribution.dense()
    size, alpha, beta, kappa = (cp.Parameter(nonneg=True) for _ in range(4))
    w, excess = cp.Variable(matrix.shape[0]), cp.Variable(matrix.shape[1])
    goal = cp.Maximize(alpha * (programs[0].gains @ w) - beta * cp.sum(excess))
    problem = cp.Problem(
        goal, [cp.sum(w) == size, w >= 0, w <= 1, excess >= 0, excess >= matrix.T @ w - kappa]
    )
    seconds: list[float] = []
    for program in [programs[0], *programs]:
        size.value, kappa.value = program.budget, program.kappa
        alpha.value, beta.value = program.alpha, 1 - program.alpha
        started = time.perf_counter()
        problem.solve(**options)
        seconds.append(time.perf_counter() - started)
        if sum(seconds) > most_seconds and len(seconds) > 3:
            break
    return max(0.0, seconds[0] - seconds[1]), float(np.mean(seconds[1:])), len(seconds) - 1


def section_a(args: argparse.Namespace) -> None:
    programs = grid(problems.digits(), args.quick)
    count = len(programs)
    # every part of the grid is met early: a peer that runs out of time has seen easy and hard programs
    mixed = [programs[i] for i in np.random.default_rng(0).permutation(count)]
    print(f"a. {count} programs, digits, T 1000 x 500")
    ours, solutions = solve_grid(programs)
    print(f"   {'ours, solve_path':50s} {ours:8.1f} s", flush=True)

    def line(name: str, seconds: float, goal: str) -> None:
        told = {"part": "grid", "programs": count, "what": name, "ours": ours, "peer": seconds}
        keep(args.out, told | {"machine": machine()})
        print(f"   {name:50s} {seconds:8.1f} s {seconds / ours:7.1f}x goal {goal}", flush=True)

    started = time.perf_counter()
    reference = [solve(p, "highs") for p in programs]
    line("HiGHS alone", time.perf_counter() - started, "4x")
    for name, goal, options in (
        # from the last program's basis HiGHS may take minutes where it takes seconds afresh
        ("CVXPY + HiGHS", "8x", {"solver": "HIGHS", "warm_start": False}),
        ("CVXPY, its default solver", "20x", {}),
    ):
        compiled, each, solved = with_cvxpy(mixed, np.inf if args.full else 120.0, **options)
        note = "" if solved == count else f" ({solved} programs, scaled to {count})"
        line(name + note, compiled + each * count, goal)
    off = [
        abs(s.objective - r.objective) / max(1.0, abs(r.objective))
        for s, r in zip(solutions, reference, strict=True)
    ]
    keep(args.out, {"part": "objectives", "programs": count, "largest": max(off)})
    print(f"   objectives against HiGHS: largest relative difference {max(off):.1e} (goal 1e-6)", flush=True)


def section_b(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        size = (6000, 500, 500) if args.quick else (60_000, 5000, 5000)
        made = child("prepare", folder, *size)
        print(f"b. {made['name']}, {size[0]} x {size[2]}, {size[1]} models, p = 0.03, S = {size[0] // 20}")
        parts = (("models", "models"), ("max T", "max"), ("5 % of T", "sparsify"))
        print("   " + ", ".join(f"{label} {made[key]:.0f} s" for label, key in parts), flush=True)
        for kind in ("implicit", "sparse", "pdlp"):
            r = child(kind, folder)
            keep(args.out, {"part": "large", "shape": size} | r | {"machine": machine()})
            print(
                f"   {r['name']:34s} {r['seconds']:7.1f} s ({r['cpu']:.1f} s of processor), "
                f"gap {r['gap']:.2%}, {r['iterations']} iterations, "
                f"peak {r['peak']:.2f} GiB{' (goal < 4)' if kind == 'implicit' else ''}",
                flush=True,
            )


def section_c(args: argparse.Namespace) -> None:
    print("c. growth: implicit T, 5,000 models, p = 0.03, 5,000 evaluation rows")
    for n in (1000, 10_000) if args.quick else (1000, 10_000, 100_000, 1_000_000):
        r = child("growth", str(n))
        print(
            f"   n = {n:9,d}  {1e3 * r['each']:8.1f} ms an iteration, {1e9 * r['each'] / n:9.0f} ns a row, "
            f"peak {r['peak']:.2f} GiB",
            flush=True,
        )


def section_d(args: argparse.Namespace) -> None:
    print("d. rounding: loss against the relaxed bound, mean over the programs of a")
    for name, matrix in (("digits", problems.digits()), ("pol", problems.pol())):
        if matrix is None:
            print(f"   {name}: needs CDVM_DATA_HOME")
            continue
        programs = grid(matrix, args.quick)
        _, solutions = solve_grid(programs)
        before, after, seconds = [], [], 0.0
        for program, solution in zip(programs, solutions, strict=True):
            rows = top_rows(program, solution.weights)
            started = time.perf_counter()
            better = swap_search(program, rows)
            seconds += time.perf_counter() - started
            before.append(loss_of(program, rows, solution.bound)[1])
            after.append(loss_of(program, better, solution.bound)[1])
        removed = 1 - np.array(after) / np.maximum(before, 1e-12)
        print(
            f"   {name:7s} top S {np.median(before):.2%}, swap search {np.median(after):.2%} (medians); "
            f"removed {removed.mean():.0%} on average (goal 60 %), "
            f"{1e3 * seconds / len(programs):.0f} ms a program",
            flush=True,
        )
        integrality(name, programs, solutions, 5.0 if args.quick else 60.0)


def integrality(name: str, programs: list[Program], solutions: list[Solution], limit: float) -> None:
    """The part of the loss that no set can avoid, where the mixed-integer program shows it."""
    k = next(i for i, p in enumerate(programs) if p.budget == 50 and p.alpha == 0.5) + 1
    program, relaxed = programs[k], solutions[k]
    exact = solve(program, "milp", time_limit=limit)
    rows = top_rows(program, relaxed.weights)
    better = swap_search(program, rows)
    losses = [loss_of(program, r, relaxed.bound)[1] for r in (rows, better)]
    proven = min(exact.bound, relaxed.bound)
    print(
        f"   {name:7s} S = 50, kappa auto: top S {losses[0]:.2%}, swap search {losses[1]:.2%}; "
        f"any set loses at least {program.gap(proven, relaxed.bound):.2%}, "
        f"the best found by HiGHS in {limit:.0f} s {program.gap(exact.objective, relaxed.bound):.2%}",
        flush=True,
    )


def child(task: str, *arguments: object) -> dict:
    """Run a task in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "perf.solvers", "--child", task, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def prepare(folder: str, n: str, models: str, evaluation: str) -> dict:
    marks = [time.perf_counter()]
    name, attribution = problems.fashion(int(n), int(models), int(evaluation))
    marks.append(time.perf_counter())
    kappa = Program(attribution, budget=int(n) // 20).kappa
    marks.append(time.perf_counter())
    thin = attribution.sparsify(0.05).matrix
    marks.append(time.perf_counter())
    sparse.save_npz(Path(folder) / "sparse.npz", sparse.csr_matrix(thin), compressed=False)
    attribution.save(Path(folder) / "implicit.npz")
    (Path(folder) / "kappa").write_text(str(kappa))
    models_, largest, kept = np.diff(marks)
    return {"name": name, "models": models_, "max": largest, "sparsify": kept}


def solve_stored(folder: str, kind: str) -> dict:
    if kind == "implicit":
        attribution = Attribution.load(Path(folder) / "implicit.npz")
        kappa: float | str = float((Path(folder) / "kappa").read_text())
    else:
        attribution = MatrixAttribution(sparse.csr_array(sparse.load_npz(Path(folder) / "sparse.npz")))
        kappa = "auto"
    program = Program(attribution, budget=attribution.shape[0] // 20, kappa=kappa)
    if kind == "pdlp":
        solution, name, worked = with_pdlp(program)
    else:
        begun = time.process_time()
        solution, name = solve_first_order(program, tolerance=GAP), f"first order, {kind} T"
        worked = time.process_time() - begun
    seconds = solution.build_seconds + solution.solve_seconds
    return {
        "name": name,
        "seconds": seconds,
        "cpu": worked,
        "gap": solution.gap,
        "iterations": solution.iterations,
    }


def with_pdlp(program: Program) -> tuple[Solution, str, float]:
    """The loosest of PDLP's tolerances that reaches the certified gap, as if it had been known."""
    from ortools.pdlp import solvers_pb2
    from ortools.pdlp.python import pdlp

    started = time.perf_counter()
    assert isinstance(program.attribution, MatrixAttribution)
    n, m = program.attribution.shape
    matrix = program.attribution.matrix.astype(np.float64)
    evaluation = sparse.hstack([matrix.T, -sparse.eye_array(m)])
    budget = sparse.csr_array(np.r_[np.ones(n), np.zeros(m)][None, :])
    lp = pdlp.QuadraticProgram()
    lp.constraint_matrix = sparse.csc_matrix(sparse.vstack([evaluation, budget]))
    lp.objective_vector = np.r_[-program.alpha * program.gains, np.full(m, 1 - program.alpha)]
    lp.variable_lower_bounds = np.zeros(n + m)
    lp.variable_upper_bounds = np.r_[np.ones(n), np.full(m, np.inf)]
    lp.constraint_lower_bounds = np.r_[np.full(m, -np.inf), program.budget]
    lp.constraint_upper_bounds = np.r_[np.full(m, program.kappa), program.budget]
    built = time.perf_counter()
    for tolerance in (1e-3, 7e-4, 5e-4, 3e-4, 1e-4):
        options = solvers_pb2.PrimalDualHybridGradientParams(num_threads=2)
        options.termination_criteria.simple_optimality_criteria.eps_optimal_relative = tolerance
        options.termination_criteria.simple_optimality_criteria.eps_optimal_absolute = tolerance
        begun, working = time.perf_counter(), time.process_time()
        answer = pdlp.primal_dual_hybrid_gradient(lp, options)
        worked, seconds = time.process_time() - working, time.perf_counter() - begun
        solution = finish(
            program,
            np.asarray(answer.primal_solution[:n]),
            np.abs(np.asarray(answer.dual_solution[:m])),
            status="optimal",
            iterations=answer.solve_log.iteration_count,
            build_seconds=built - started,
            solve_seconds=seconds,
            method="pdlp",
        )
        if solution.gap <= GAP:
            break
    return solution, f"PDLP, sparse T, tolerance {tolerance:.0e}", worked


def growth(n: str) -> dict:
    program = Program(problems.generated(int(n)), budget=max(1, int(n) // 20), kappa=0.05)
    solution = solve_first_order(program, tolerance=1e-12, max_iterations=20)
    return {"each": solution.solve_seconds / max(1, solution.iterations)}


def run_child(task: str, arguments: list[str]) -> None:
    tasks = {"prepare": prepare, "growth": growth}
    result = tasks[task](*arguments) if task in tasks else solve_stored(arguments[0], task)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(result | {"peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="a,b,c,d", help="sections, e.g. a,d")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument("--full", action="store_true", help="slow peers on every program")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="a file that lines of what is measured are added to")
    args = parser.parse_args()
    if args.child:
        run_child(args.child[0], args.child[1:])
        return
    for letter in args.only.split(","):
        {"a": section_a, "b": section_b, "c": section_c, "d": section_d}[letter.strip()](args)


if __name__ == "__main__":
    main()
