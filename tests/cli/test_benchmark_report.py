"""``cdvm benchmark table`` and ``figures`` on a results directory."""

import pytest
from benchmark_frames import line, run
from typer.testing import CliRunner

from cdvm.benchmark.protocol import get_protocol
from cdvm.benchmark.results import Results
from cdvm.cli.main import app

runner = CliRunner(env={"COLUMNS": "100"})


def _directory(path, frame, protocol="paper"):
    results = Results.create(path, get_protocol(protocol))
    for unit, part in frame.groupby(["dataset", "method", "repetition"]):
        results.write(unit, part.to_dict("records"))
    results.join()
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return _directory(tmp_path_factory.mktemp("run") / "paper", run(("pol",), 2, ablations=False))


def test_tables_are_shown_and_written(results):
    found = runner.invoke(app, ["benchmark", "table", str(results)])
    assert found.exit_code == 0, found.output
    for text in ("CDVM5k", "What the results show", "Run time", "97 s + 10 s"):
        assert text in found.output
    assert (results / "tables" / "results.tex").exists()
    assert (results / "tables" / "paired.csv").exists()


def test_directories_are_taken_together_and_shared_rows_count_once(results, tmp_path):
    frame = run(("pol",), 2)
    more = frame[frame["method"].isin(["CDVM5k", "CDVM5k-p10"])]
    more = _directory(tmp_path / "inclusion", more)
    found = runner.invoke(
        app, ["benchmark", "table", str(results), str(more), "--all", "--out", str(tmp_path / "t")]
    )
    assert found.exit_code == 0, found.output
    assert "CDVM5k for different inclusions p" in found.output
    lines = (tmp_path / "t" / "by_inclusion.csv").read_text().splitlines()
    assert lines[0].split(",")[:3] == ["dataset", "inclusion", "percent"]
    assert len(lines) == 1 + 2 * 6
    assert {text.split(",")[6] for text in lines[1:]} == {"2"}


def test_figures_are_drawn_and_missing_ones_named(results, tmp_path):
    found = runner.invoke(app, ["benchmark", "figures", str(results), "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    assert (tmp_path / "main_results.png").exists()
    assert (tmp_path / "cluster_overview.svg").exists()
    assert "motivation is left out: it needs results of Banzhaf10k" in found.output


def test_a_directory_without_results_is_one_line(tmp_path):
    for command in ("table", "figures"):
        found = runner.invoke(app, ["benchmark", command, str(tmp_path)])
        assert found.exit_code == 2
        assert "holds no results" in found.output
        assert "Traceback" not in found.output


def test_protocols_are_not_mixed(results, tmp_path):
    import pandas as pd

    clean = _directory(
        tmp_path / "clean", pd.DataFrame([line("pol", "Random", 50, 0, 0.7, protocol="clean")]), "clean"
    )
    found = runner.invoke(app, ["benchmark", "table", str(results), str(clean)])
    assert found.exit_code == 2
    assert "another protocol" in found.output
    assert "name is 'clean' there and 'paper' here" in found.output
    assert not (tmp_path / "clean" / "tables").exists()


def test_claims_are_printed_and_put_where_a_text_marks_them(results, tmp_path):
    found = runner.invoke(app, ["benchmark", "claims", str(results.parent)])
    assert found.exit_code == 0, found.output
    values = dict(line.split(": ", 1) for line in found.output.splitlines())
    assert values["paper.repetitions"] == "2"
    won, lost, undecided = map(int, values["paper.refined.against.Random"].split(" / "))
    assert (won, lost, undecided) == (0, 0, int(values["paper.settings"]))  # two repetitions decide nothing
    text = tmp_path / "page.md"
    text.write_text("in <!--claim paper.refined.above_all-->?<!--/claim--> settings")
    filled = runner.invoke(app, ["benchmark", "claims", str(results.parent), "--fill", str(text)])
    assert "filled" in filled.output
    assert f"-->{values['paper.refined.above_all']}<!--/claim-->" in text.read_text()
    again = runner.invoke(app, ["benchmark", "claims", str(results.parent), "--fill", str(text)])
    assert "as it was" in again.output


def test_a_claim_without_results_is_named_and_nothing_is_written(results, tmp_path):
    text = tmp_path / "page.md"
    text.write_text("<!--claim paper.repetitions-->9<!--/claim--> <!--claim clean.magic-->9<!--/claim-->")
    before = text.read_text()
    found = runner.invoke(app, ["benchmark", "claims", str(results.parent), "--fill", str(text)])
    assert found.exit_code == 2
    assert "clean.magic" in found.output
    assert text.read_text() == before
    assert "no results of a protocol" in runner.invoke(app, ["benchmark", "claims", str(tmp_path)]).output
