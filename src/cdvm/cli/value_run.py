"""From the words of ``cdvm value`` to values, suspects and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdvm.cli.options import refuse_unused
from cdvm.cli.parsing import parse_amount
from cdvm.datasets.source import load_source
from cdvm.errors import InputError
from cdvm.pruner.request import placed
from cdvm.report.output import check_file
from cdvm.report.values import (
    ENDINGS,
    Suspicion,
    print_detection,
    print_suspects,
    print_values,
    write_values,
)
from cdvm.valuation import flip_split, needs_validation, p_values, valuation_names, value_rows
from cdvm.valuation.detection import detect, detect_with_each
from cdvm.valuation.noise import RATE, check_rate, has_evidence, no_evidence
from cdvm.valuation.stopping import make_rule

__all__ = ["ValueRequest", "run_value"]

_TOP = 5
_LEARNER_FREE = ("random", "knn_shapley")  # their values follow from the table alone
_VALIDATION_FREE = ("random", "out_of_bag", "memorization")


@dataclass(frozen=True, kw_only=True)
class ValueRequest:
    """What the command line says; None, "" and False leave a thing to the method."""

    table: Path | None
    target: str
    dataset: str
    method: str
    validation: Path | None
    uses: dict[str, list[str] | None]
    learner: str
    models: int | None
    inclusion: float | None
    neighbors: int | None
    error: float | None
    stable: float | None
    flip: float | None
    report: str
    false_alarms: str
    fraction: str
    top: int | None
    out: Path | None
    force: bool
    store: str | None
    scale: bool | None
    seed: int
    jobs: int
    cluster: str | None

    @property
    def needs_validation(self) -> bool:
        return self.method == "all" or needs_validation(self.method)

    @property
    def options(self) -> dict[str, Any]:
        """What is passed on to the method."""
        given = {
            "n_models": self.models,
            "inclusion": self.inclusion,
            "k": self.neighbors,
            "stop": make_rule(self.error, self.stable),
            "store": self.store,
        }
        return {name: setting for name, setting in given.items() if setting is not None}


def run_value(request: ValueRequest) -> None:
    """Value rows, report on them and write them."""
    _check(request)
    rate, fraction = _evidence(request)
    source = load_source(
        request.table,
        request.target,
        dataset=request.dataset,
        validation=str(request.validation or ("holdout" if request.needs_validation else "out_of_bag")),
        own_validation=request.validation is None,
        test=None,
        uses=request.uses,
        learner=request.learner,
        scale=request.scale,
        seed=request.seed,
        reporting=False,
    )
    options = request.options | {"seed": request.seed, "n_jobs": request.jobs}
    if request.flip is not None:
        split, flipped = flip_split(source.split, request.flip, seed=request.seed)
        with placed(request.cluster):
            if request.method == "all":
                options = {"n_models": 1000, **options}
                names = valuation_names()
                found = list(detect_with_each(split, source.learner, flipped, names, rate=rate, **options))
            else:
                values = value_rows(split, source.learner, request.method, **options)
                found = [detect(values, flipped, rate=rate)]
        print_detection(source, found, len(flipped), rate)
        return
    with placed(request.cluster):
        values = value_rows(source.split, source.learner, request.method, **options)
    doubtful = fraction is not None or p_values(values) is not None
    suspicion = Suspicion.of(values, rate, fraction) if doubtful or request.report == "noise" else None
    if request.out is not None:
        write_values(request.out, source, values, suspicion)
    top = _TOP if request.top is None else request.top
    if request.report == "noise" and suspicion is not None:
        print_suspects(source, values, suspicion, top, request.out)
    else:
        print_values(source, source.split, values, top, request.out)


def _check(request: ValueRequest) -> None:
    """Refuse what cannot be, before any work is done."""
    if request.error is not None and not request.error > 0:
        raise InputError(f"--error {request.error}: use a standard error above 0, e.g. 0.01")
    if request.stable is not None and not 0 < request.stable < 1:
        raise InputError(f"--stable {request.stable}: use a correlation between 0 and 1, e.g. 0.9")
    if request.flip is not None and not 0 < request.flip < 1:
        raise InputError(f"--flip {request.flip}: use a fraction of the labels between 0 and 1, e.g. 0.1")
    if request.report not in ("values", "noise"):
        raise InputError(f"--report {request.report!r}: use values or noise")
    if request.top is not None and request.top < 1:
        raise InputError(f"--top {request.top}: use at least 1 row")
    if request.method == "all" and request.flip is None:
        raise InputError(
            "--method all compares methods at finding flipped labels: add --flip 0.1 --report noise, or "
            f"choose one of {', '.join(valuation_names())}"
        )
    _check_unused(request)
    check_file(request.out, ENDINGS, force=request.force, inputs=[request.table, request.validation])


def _check_unused(request: ValueRequest) -> None:
    """Refuse options that would be ignored."""
    method = request.method
    if request.flip is not None:
        if request.report != "noise":
            raise InputError("--flip tries how well a method finds wrong labels: add --report noise")
        also = {"--out": request.out, "--top": request.top, "--fraction": request.fraction}
        if wrong := [flag for flag, setting in also.items() if setting]:
            raise InputError(f"{wrong[0]} has no meaning with --flip, which moves labels to try a method on")
    if method == "all":
        return
    refuse_unused(method, request.options | {"cluster": request.cluster})
    free: dict[str, tuple[Any, tuple[str, ...]]] = {
        "--learner": (request.learner, _LEARNER_FREE),
        "--validation": (request.validation, _VALIDATION_FREE),
    }
    for flag, (given, methods) in free.items():
        if given and method in methods:
            raise InputError(f"{flag} has no meaning for --method {method}: leave it out")
    if request.report == "noise" and not (request.fraction or request.flip or has_evidence(method)):
        raise no_evidence(f"{method} gives values")


def _evidence(request: ValueRequest) -> tuple[float, float | None]:
    """The rate of false alarms, and the fraction of wrong labels where it is known."""
    for flag, given in {"--false-alarms": request.false_alarms, "--fraction": request.fraction}.items():
        if given and request.report != "noise" and request.out is None:
            raise InputError(f"{flag} is about suspected labels: add --report noise or --out")
    if request.fraction and request.false_alarms:
        raise InputError(
            "--fraction and --false-alarms are two ways to say how many rows to suspect: use one"
        )
    rate = check_rate(parse_amount("--false-alarms", request.false_alarms)) if request.false_alarms else RATE
    return rate, parse_amount("--fraction", request.fraction) if request.fraction else None
