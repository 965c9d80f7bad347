"""What the paper leaves to future work, tried on tables to tune on: ``python -m perf.future [SECTION …]``.

lowrank    the program on T's leading singular vectors, from 5,000 and from 1,000 models
parts      the rows in random parts, a program for each part of the budget
scale      warm starts of the first-order method on 13,000 rows of letter
pairs      effects of pairs of rows in the objective, against exchanging rows and retraining
gradients  attributions by one Newton step of subset models and by TRAK (``pip install traker``), against
           memberships: the linear datamodelling score, and the rows they choose

Converged logistic regression, 1,000 training (pairs: 200), 500 validation and up to 2,000 test rows; accuracy
is that on the test rows, mean over tables and splits, with the standard error of the difference to the first
line, paired.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from tempfile import TemporaryDirectory

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from cdvm import CDVM, evaluate_sets, random_sets, refine
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.benchmark.protocol import get_protocol
from cdvm.data.split import Split
from cdvm.learners.logistic import LogisticLearner
from cdvm.learners.ridge import RidgeLearner
from cdvm.optimize.program import Program
from cdvm.optimize.rounding import swap_search, top_rows
from cdvm.optimize.solvers.dispatch import solve
from cdvm.outcomes.recording import record_outcomes
from cdvm.sampling import Design
from perf.data import tuning_split, tuning_table

TABLES = ("phoneme", "german", "fried", "digits")
TWO_CLASSES = ("phoneme", "german", "fried")
BUDGETS = (50, 100, 300)
LEARNER = LogisticLearner()

Lines = dict[str, list[float]]
Fit = tuple[np.ndarray, np.ndarray]  # rows, and the model's weights with its intercept at the end


def fitted(split: Split, n_models: int, seed: int, inclusion: float = 0.03) -> np.ndarray:
    pruner = CDVM(
        LEARNER, n_models=n_models, inclusion=inclusion, random_state=seed, n_jobs=1, progress=False
    )
    return pruner.fit_split(split).attribution_.dense()


def chosen(T: np.ndarray, size: int) -> np.ndarray:
    program = Program(T, budget=size)
    return swap_search(program, top_rows(program, solve(program).weights))


def accuracy(split: Split, sets: list[np.ndarray]) -> list[float]:
    test = (split.X_test, split.y_test)
    return evaluate_sets(split, LEARNER, sets, test, n_jobs=1, progress=False)[0].mean(axis=1).tolist()


def random_accuracy(split: Split, size: int) -> float:
    return float(np.mean(accuracy(split, random_sets(split.n_rows, size, 10, seed=0))))


def lowrank(table: str, seed: int, found: Lines) -> None:
    split = tuning_split(table, get_protocol("clean"), seed)
    for models in (5000, 1000):
        T = fitted(split, models, seed)
        U, s, V = np.linalg.svd(T, full_matrices=False)
        ways = {f"{models:,} models, all of T": T}
        ways |= {f"{models:,} models, rank {r}": (U[:, :r] * s[:r]) @ V[:r] for r in (5, 20, 100)}
        for size in sizes(split):
            sets = [chosen(matrix, size) for matrix in ways.values()]
            for name, score in zip(ways, accuracy(split, sets), strict=True):
                found[name].append(score)
    for size in sizes(split):
        found["random rows"].append(random_accuracy(split, size))


def parts(table: str, seed: int, found: Lines) -> None:
    split = tuning_split(table, get_protocol("clean"), seed)
    T = fitted(split, 5000, seed)
    order = np.random.default_rng(seed).permutation(split.n_rows)
    for size in sizes(split):
        whole = Program(T, budget=size)
        best = solve(whole)
        sets, names = [], []
        for count in (1, 2, 5, 10):
            started = time.process_time()
            pieces = []
            for rows in np.array_split(order, count):
                # every part fills its share of each cap
                program = Program(T[rows], budget=size // count, kappa=whole.kappa / count)
                pieces.append(rows[top_rows(program, solve(program).weights)])
            kept = np.sort(np.concatenate(pieces))
            found[f"seconds, {count} parts"].append(time.process_time() - started)
            v = T[kept].sum(axis=0)
            objective = 0.5 * v.sum() - 0.5 * np.maximum(v - whole.kappa, 0).sum()
            found[f"objective lost, {count} parts"].append(1 - objective / best.objective)
            sets.append(kept)
            names.append(f"accuracy, {count} parts")
        for name, score in zip(names, accuracy(split, sets), strict=True):
            found[name].append(score)


def scale(table: str, seed: int, found: Lines) -> None:
    X, y = tuning_table(table)
    order = np.random.default_rng(seed).permutation(len(y))
    train, asked = order[:13_000], order[13_000:15_000]
    split = Split.from_arrays(X[train], y[train], X[asked], y[asked]).standardized()
    design = Design(split.n_rows, 0.01, seed=seed)
    outcomes = record_outcomes(split, RidgeLearner(), design, range(1000), n_jobs=1, progress=False)
    base = Program(ImplicitAttribution.from_outcomes(outcomes), budget=1)
    programs = [base.replace(budget=round(b * split.n_rows), kappa="auto") for b in (0.01, 0.02, 0.05, 0.1)]
    for chained, name in ((False, "afresh"), (True, "from the budget before")):
        before = None
        for program in programs:
            started = time.process_time()
            before = solve(program, "first_order", tolerance=1e-2, warm=before if chained else None)
            found[f"seconds, {name}"].append(time.process_time() - started)
            found[f"gap, {name}"].append(before.gap)


def pairs(table: str, seed: int, found: Lines) -> None:
    protocol = get_protocol("clean").replace(train=200)
    split = tuning_split(table, protocol, seed)
    n, inclusion, models = split.n_rows, 0.1, 20_000
    design = Design(n, inclusion, "bernoulli", seed)
    outcomes = record_outcomes(
        split, LEARNER, design, range(models), outcome="correct", n_jobs=1, progress=False
    )
    M = design.take(range(models)).members.toarray().astype(np.float64)
    u = outcomes.values().mean(axis=1)
    effect, noise = interactions(M, u)
    signal = max(effect.var() - noise.mean(), 0.0)
    Q = effect * signal / (signal + noise)
    half = models // 2
    first, second = interactions(M[:half], u[:half])[0], interactions(M[half:], u[half:])[0]
    upper = np.triu_indices(n, 1)
    found["correlation of pairs between halves of the models"].append(
        float(np.corrcoef(first[upper], second[upper])[0, 1])
    )
    pruner = CDVM(LEARNER, random_state=seed, n_jobs=1, progress=False)
    T = pruner.fit_outcomes(split, outcomes).attribution_.dense()
    for size in (10, 20, 40):
        program = Program(T, budget=size)
        start = swap_search(program, top_rows(program, solve(program).weights))
        # the program's objective is a sum over evaluation rows, a pair's effect a mean
        scale = T.shape[1] * 0.5
        sets = [start, *(with_pairs(program, scale * weight * Q, start) for weight in (0.1, 0.3, 1.0))]
        better = refine(
            split.rows[start], split, LEARNER, fits=1000, seed=seed, n_jobs=1, progress=False
        ).rows
        names = ["program", *(f"pairs, weight {w:g}" for w in (0.1, 0.3, 1.0)), "refined, 1,000 fits"]
        for name, score in zip(names, accuracy(split, [*sets, better]), strict=True):
            found[name].append(score)
        found["random rows"].append(random_accuracy(split, size))


def interactions(M: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[u | both] − E[u | one] − E[u | other] + E[u] of every pair of rows, and its sampling variance."""
    count, total = M.T @ M, M.T @ (M * u[:, None])
    alone = (M.T @ u) / np.maximum(M.sum(axis=0), 1)
    effect = total / np.maximum(count, 1) - alone[:, None] - alone[None] + u.mean()
    np.fill_diagonal(effect, 0.0)
    return effect, u.var() / np.maximum(count, 1)


def with_pairs(program: Program, Q: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Best single exchanges until none raises the objective with the pairs' effects."""
    T, kappa = program.attribution.block(), program.kappa
    kept = list(start)
    for _ in range(200):
        v, q = T[kept].sum(axis=0), Q[kept].sum(axis=0)
        outside = np.setdiff1d(np.arange(len(T)), kept)
        best, move = 1e-9, None
        now = value(v, kappa)
        for place, row in enumerate(kept):
            after = v - T[row] + T[outside]
            gain = value(after, kappa) - now + q[outside] - Q[row, outside] - q[row]
            k = int(gain.argmax())
            if gain[k] > best:
                best, move = float(gain[k]), (place, outside[k])
        if move is None:
            break
        kept[move[0]] = move[1]
    return np.sort(kept)


def value(v: np.ndarray, kappa: float) -> np.ndarray:
    return 0.5 * v.sum(axis=-1) - 0.5 * np.maximum(v - kappa, 0).sum(axis=-1)


def gradients(table: str, seed: int, found: Lines) -> None:
    split = tuning_split(table, get_protocol("clean"), seed)
    X_val, y_val = split.evaluation
    sign = 2.0 * y_val - 1
    models = range(6000)
    test = slice(5000, 6000)
    design = Design(split.n_rows, 0.03, "bernoulli", seed)
    M = design.take(models).members.toarray().astype(np.float64)
    right, margins = (
        record_outcomes(split, LEARNER, design, models, outcome=outcome, n_jobs=1, progress=False).values()
        for outcome in ("correct", "margin")
    )
    ways = {}
    for name, values in (("right or wrong", right), ("margin", margins)):
        for count in (500, 5000):
            ways[f"memberships, {name}, {count:,} models"] = difference(M[:count], values[:count])
    for inclusion in (0.03, 0.5):
        fits = subset_models(split, 50, inclusion, seed)
        ways[f"Newton steps of 50 models of {inclusion:.0%}"] = newton(split, sign, X_val, fits)
        ways[f"TRAK of 50 models of {inclusion:.0%}"] = trak(split, X_val, y_val, fits)
    for name, T in ways.items():
        told = M[test] @ T
        score = np.nanmean(
            [stats.spearmanr(told[:, j], margins[test, j])[0] for j in range(0, T.shape[1], 5)]
        )
        found[f"LDS, {name}"].append(float(score))
    for size in sizes(split):
        sets = [chosen(T / np.abs(T).max(), size) for T in ways.values()]
        for name, score in zip(ways, accuracy(split, sets), strict=True):
            found[f"accuracy, {name}"].append(score)
        found["accuracy, random rows"].append(random_accuracy(split, size))


def difference(M: np.ndarray, C: np.ndarray) -> np.ndarray:
    count = M.sum(axis=0)[:, None]
    return M.T @ C / np.maximum(count, 1) - (1 - M).T @ C / np.maximum(len(M) - count, 1)


def subset_models(split: Split, count: int, inclusion: float, seed: int) -> list[Fit]:
    """Converged models of random rows, and the rows."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        rows = np.flatnonzero(rng.random(split.n_rows) < inclusion)
        if len(np.unique(split.y[rows])) == 2:
            model = LogisticRegression(C=1.0).fit(split.X[rows], split.y[rows])
            found.append((rows, np.append(model.coef_[0], model.intercept_[0])))
    return found


def newton(split: Split, sign: np.ndarray, X_val: np.ndarray, fits: list[Fit]) -> np.ndarray:
    """Mean over subset models of what one Newton step on each further row does to every margin."""
    design, asked = (np.column_stack([X, np.ones(len(X))]) for X in (split.X, X_val))
    penalty = np.append(np.ones(split.X.shape[1]), 1e-6)
    total = np.zeros((split.n_rows, len(X_val)))
    for rows, theta in fits:
        p = 1 / (1 + np.exp(-design @ theta))
        inner = design[rows] * (p[rows] * (1 - p[rows]))[:, None]
        inverse = np.linalg.inv(design[rows].T @ inner + np.diag(penalty))
        total += ((split.y - p)[:, None] * design) @ inverse @ asked.T * sign
    return total / len(fits)


def trak(split: Split, X_val: np.ndarray, y_val: np.ndarray, fits: list[Fit]) -> np.ndarray:
    """TRAK's scores by its authors' library, each subset model one of its checkpoints."""
    import torch
    from trak import TRAKer
    from trak.projectors import BasicProjector, ProjectionType

    def batch(X: np.ndarray, y: np.ndarray) -> list[torch.Tensor]:
        return [torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.int64)]

    def checkpoint(theta: np.ndarray) -> dict[str, torch.Tensor]:
        both = torch.tensor(np.stack([-theta / 2, theta / 2]), dtype=torch.float32)
        return {"weight": both[:, :-1].contiguous(), "bias": both[:, -1].contiguous()}

    train, asked = batch(split.X, split.y), batch(X_val, y_val)
    linear = torch.nn.Linear(split.X.shape[1], 2)
    n_weights = sum(p.numel() for p in linear.parameters())
    size = min(512, n_weights // 2)  # gradients of two opposite outputs are one
    projector = BasicProjector(n_weights, size, 0, ProjectionType.normal, torch.device("cpu"), 1)
    with TemporaryDirectory() as place:
        traker = TRAKer(
            model=linear, task="image_classification", train_set_size=split.n_rows, save_dir=place,
            device="cpu", projector=projector, proj_dim=size, use_half_precision=False, logging_level=40,
        )  # fmt: skip
        states = [checkpoint(theta) for _, theta in fits]
        for number, state in enumerate(states):
            traker.load_checkpoint(state, model_id=number)
            traker.featurize(batch=train, num_samples=split.n_rows)
        traker.finalize_features()
        for number, state in enumerate(states):
            traker.start_scoring_checkpoint("asked", state, model_id=number, num_targets=len(y_val))
            traker.score(batch=asked, num_samples=len(y_val))
        return np.asarray(traker.finalize_scores("asked"), dtype=np.float64)


def sizes(split: Split) -> list[int]:
    return [round(b * split.n_rows / 1000) for b in BUDGETS]


SECTIONS = {
    "lowrank": (lowrank, TABLES),
    "parts": (parts, TABLES),
    "scale": (scale, ("letter",)),
    "pairs": (pairs, TWO_CLASSES),
    "gradients": (gradients, TWO_CLASSES),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=list(SECTIONS))
    parser.add_argument("--splits", type=int, default=2)
    given = parser.parse_args()
    with threadpool_limits(limits=1):
        for section in given.sections:
            measure, tables = SECTIONS[section]
            found: Lines = defaultdict(list)
            for seed in range(given.splits):
                for table in tables:
                    measure(table, seed, found)
            print(f"\n{section}: {', '.join(tables)}, {given.splits} splits")
            for name, values in found.items():
                reference = next(v for k, v in found.items() if len(v) == len(values) and _same(k, name))
                apart = np.array(values) - reference
                error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
                print(f"   {name:52s} {np.mean(values):8.4f}   {apart.mean():+.4f} ± {error:.4f}")


def _same(a: str, b: str) -> bool:
    """Whether two lines tell the same kind of number."""
    kinds = ("LDS", "accuracy", "seconds", "objective", "correlation", "gap")
    return [a.startswith(k) for k in kinds] == [b.startswith(k) for k in kinds]


if __name__ == "__main__":
    main()
