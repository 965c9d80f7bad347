"""Results, tables and figures in MLflow, on a server or in a directory."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cdvm.benchmark.figures.write import write_figures
from cdvm.benchmark.tables import summary
from cdvm.benchmark.tables.write import write_tables
from cdvm.errors import InputError, redacted

if TYPE_CHECKING:
    import pandas as pd

    from cdvm.benchmark.protocol import Protocol

__all__ = ["check_tracking", "metrics", "track"]

_AT_ONCE = 1000  # MLflow takes no more metrics in one call
_FILES_ALLOWED = "MLFLOW_ALLOW_FILE_STORE"  # without it, newer versions refuse directories


def track(
    results: str | Path,
    frame: pd.DataFrame,
    protocol: Protocol,
    *,
    uri: str | None = None,
    experiment: str = "cdvm",
    figures: bool = True,
) -> str:
    """Log a run: parameters, accuracies (with the budget as step), tables, figures and the results.

    Parameters
    ----------
    results : path
        The results directory; its name is the run's, and its table is logged.
    frame : DataFrame
        The rows of the run.
    protocol : Protocol
    uri : str, optional
        A server, a database, or a directory; MLflow's own default if None.
    experiment : str
    figures : bool
        Draw figures as well, which needs matplotlib.

    Returns
    -------
    str
        The id of the MLflow run.
    """
    check_tracking()
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    rows = summary.checked(frame)
    now = int(1000 * time.time())
    parameters = [Param(key, text) for key, text in _parameters(rows, protocol).items()]
    points = [Metric(name, value, now, step) for name, value, step in metrics(rows)]
    with _connected(uri) as address:
        client = MlflowClient(tracking_uri=address)
        found = client.get_experiment_by_name(experiment)
        place = found.experiment_id if found else client.create_experiment(experiment)
        run = str(client.create_run(place, run_name=Path(results).resolve().name).info.run_id)
        state = "FAILED"
        try:
            client.log_batch(run, params=parameters)
            for start in range(0, len(points), _AT_ONCE):
                client.log_batch(run, metrics=points[start : start + _AT_ONCE])
            _log_files(client, run, Path(results), rows, figures)
            state = "FINISHED"
        finally:
            client.set_terminated(run, state)
    return run


def check_tracking() -> None:
    """Refuse, where there is no MLflow."""
    try:
        import mlflow.entities
        import mlflow.tracking  # noqa: F401
    except ImportError as error:
        raise InputError("tracking needs mlflow: pip install cdvm[mlflow]") from error


def _log_files(client: Any, run: str, results: Path, rows: pd.DataFrame, figures: bool) -> None:
    with TemporaryDirectory() as scratch:
        write_tables(rows, Path(scratch) / "tables")
        if figures:
            write_figures(rows, Path(scratch) / "figures", clusters=False)
        client.log_artifacts(run, scratch)
    for file in (results / "results.parquet", results / "protocol.json"):
        if file.exists():
            client.log_artifact(run, str(file))


@contextmanager
def _connected(uri: str | None) -> Iterator[str | None]:
    """The address in MLflow's form; what MLflow refuses becomes one line."""
    from mlflow.exceptions import MlflowException

    before = os.environ.get(_FILES_ALLOWED)
    if uri is not None and "://" not in uri and not uri.startswith("databricks"):
        uri = Path(uri.removeprefix("file:")).expanduser().resolve().as_uri()
    if uri is not None and uri.startswith("file:"):
        os.environ.setdefault(_FILES_ALLOWED, "true")
    try:
        yield uri
    except MlflowException as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            redacted(
                f"MLflow cannot use {uri or 'its default place'} ({reason}): name a directory or a server, "
                "or pip install mlflow for databases"
            )
        ) from None  # what MLflow says may hold a password
    finally:
        if before is None:
            os.environ.pop(_FILES_ALLOWED, None)


def metrics(frame: pd.DataFrame) -> Iterator[tuple[str, float, int]]:
    """(name, value, step) for every mean: ``pol/CDVM5k/accuracy`` at the budget; worst class likewise."""
    table = summary.means(frame)
    for row in table.to_dict("records"):
        for value in ("accuracy", "worst_class"):
            if math.isfinite(row.get(value, math.nan)):
                name = f"{row['dataset']}/{_allowed(str(row['method']))}/{value}"
                yield name, float(row[value]), int(row["budget"])


def _allowed(method: str) -> str:
    """A method's name in letters MLflow takes.

    >>> _allowed("CDVM+refine"), _allowed("CDVM5k@10")
    ('CDVM_refine', 'CDVM5k_10')
    """
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in method)


def _parameters(frame: pd.DataFrame, protocol: Protocol) -> dict[str, str]:
    told = {
        f"protocol.{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in protocol.to_dict().items()
    }
    told["datasets"] = ", ".join(summary.in_order(frame["dataset"]))
    told["methods"] = ", ".join(summary.in_order(frame["method"]))
    if "versions" in frame.columns:
        told["versions"] = "; ".join(sorted(set(frame["versions"])))
    return {key: text[:6000] for key, text in told.items()}
