"""``cdvm benchmark run``."""

from typer.testing import CliRunner

from cdvm.benchmark.results import Results
from cdvm.cli.main import app


def test_command_line(tmp_path):
    out = tmp_path / "r"
    options = ["--protocol", "clean", "--datasets", "wine", "--methods", "Random, k_center"]
    answer = CliRunner().invoke(
        app, ["benchmark", "run", *options, "--repetitions", "1", "--out", str(out), "--jobs", "1"]
    )
    assert answer.exit_code == 0, answer.output
    assert set(Results.open(out).frame.method) == {"Random", "k_center"}
    wrong = CliRunner().invoke(app, ["benchmark", "run", "--datasets", "wein", "--out", str(out)])
    assert wrong.exit_code == 2
    assert "wine" in wrong.output
