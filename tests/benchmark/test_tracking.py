"""A run in a real MLflow directory."""

import sys

import pytest
from benchmark_frames import frame_of, line, run

from cdvm import InputError
from cdvm.benchmark.protocol import get_protocol
from cdvm.benchmark.tracking import metrics, track


@pytest.fixture
def client(tmp_path, monkeypatch):
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return tracking.MlflowClient(tracking_uri=(tmp_path / "store").as_uri())


def test_a_run_is_logged_whole(tmp_path, client):
    frame = run(("pol",), 2, ablations=False)
    results = tmp_path / "my-results"
    results.mkdir()
    frame.to_parquet(results / "results.parquet")
    run_id = track(
        results, frame, get_protocol("paper"), uri=str(tmp_path / "store"), experiment="bench", figures=False
    )

    found = client.get_run(run_id)
    assert (found.info.status, found.info.run_name) == ("FINISHED", "my-results")
    assert client.get_experiment(found.info.experiment_id).name == "bench"
    assert found.data.params["protocol.name"] == "paper"
    assert found.data.params["protocol.budgets"] == "[50, 100, 150, 200, 250, 300]"
    assert found.data.params["datasets"] == "pol"

    history = {m.step: m.value for m in client.get_metric_history(run_id, "pol/CDVM_refine/accuracy")}
    rows = frame[frame["method"] == "CDVM+refine"].groupby("budget")["accuracy"].mean()
    assert history == pytest.approx(rows.to_dict())

    assert {f.path for f in client.list_artifacts(run_id)} == {"results.parquet", "tables"}
    tables = {f.path for f in client.list_artifacts(run_id, "tables")}
    assert {"tables/results.md", "tables/results.tex", "tables/claims.csv"} <= tables


def test_figures_are_logged_and_a_second_run_joins_the_experiment(tmp_path, client):
    frame = frame_of(line("pol", "Random", 50, 0, 0.6))
    uri = f"file:{tmp_path / 'store'}"
    first = track(tmp_path, frame, get_protocol("paper"), uri=uri)
    second = track(tmp_path, frame, get_protocol("paper"), uri=uri, figures=False)
    assert client.get_run(first).info.experiment_id == client.get_run(second).info.experiment_id
    assert "figures/main_results.svg" in {f.path for f in client.list_artifacts(first, "figures")}
    assert not list(client.list_artifacts(second, "figures"))


def test_a_directory_needs_no_permission_of_the_users(tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    frame = frame_of(line("pol", "Random", 50, 0, 0.6))
    assert track(tmp_path, frame, get_protocol("paper"), uri=str(tmp_path / "store"), figures=False)
    import os

    assert "MLFLOW_ALLOW_FILE_STORE" not in os.environ


def test_a_place_mlflow_cannot_use_is_named(tmp_path):
    pytest.importorskip("mlflow")
    frame = frame_of(line("pol", "Random", 50, 0, 0.6))
    with pytest.raises(InputError, match=r"MLflow cannot use gopher://x .*name a directory or a server"):
        track(tmp_path, frame, get_protocol("paper"), uri="gopher://x")


def test_metrics_are_means_at_their_budgets():
    frame = frame_of(
        line("pol", "CDVM5k@5", 50, 0, 0.6), line("pol", "CDVM5k@5", 50, 1, 0.8, worst_class=0.7)
    )
    assert list(metrics(frame)) == [
        ("pol/CDVM5k_5/accuracy", pytest.approx(0.7), 50),
        ("pol/CDVM5k_5/worst_class", pytest.approx(0.6), 50),
    ]


def test_without_mlflow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.entities", None)
    with pytest.raises(InputError, match=r"pip install cdvm\[mlflow\]"):
        track(tmp_path, frame_of(line("pol", "Random", 50, 0, 0.6)), get_protocol("paper"))


def test_a_password_in_the_address_is_not_told(tmp_path):
    pytest.importorskip("mlflow")
    frame = frame_of(line("pol", "Random", 50, 0, 0.6))
    with pytest.raises(InputError) as caught:
        track(tmp_path, frame, get_protocol("paper"), uri="gopher://me:secret@x")
    assert "gopher://me:***@x" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_tracking_needs_is_checked_before_the_run(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from cdvm.cli.main import app

    words = ["benchmark", "run", "--out", str(tmp_path / "r")]
    found = CliRunner().invoke(app, [*words, "--track-uri", "here"])
    assert (found.exit_code, "add --track mlflow" in found.output) == (2, True)
    monkeypatch.setitem(sys.modules, "mlflow.entities", None)
    found = CliRunner().invoke(app, [*words, "--track", "mlflow"])
    assert (found.exit_code, "pip install cdvm[mlflow]" in found.output) == (2, True)
    assert not (tmp_path / "r").exists()
