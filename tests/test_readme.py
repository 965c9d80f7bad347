"""What the README shows works as it stands there."""

import json
import re
import shlex
from pathlib import Path

from cdvm import __version__
from cdvm.benchmark.claims import claims_of, marked_claims
from perf import cnn, pages, questions, relaxation, speed, tables

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_the_python_block_runs_as_written(capsys):
    scope = {}
    exec(compile(blocks("python")[0], "README.md", "exec"), scope)
    keep, X = scope["keep"], scope["X"]
    assert len(keep) == round(0.05 * len(X)) == len(scope["small_X"])
    assert (scope["small_X"].index == X.index[keep.indices]).all()
    assert capsys.readouterr().out.startswith("Selection(90 of 1797 rows")


def test_the_first_command_runs_as_written(command, table, tmp_path, monkeypatch):
    X, y = table
    monkeypatch.chdir(tmp_path)
    X.assign(label=y.to_numpy()).to_csv("train.csv", index=False)
    line = next(line for block in blocks("console") for line in block.splitlines() if "train.csv" in line)
    words = shlex.split(line.partition("#")[0])
    assert words[0] == "cdvm"
    code, _, errors = command(*words[1:])
    assert code == 0, errors
    assert {p.name for p in (tmp_path / "kept").iterdir()} >= {"selection.csv", "summary.json"}


def test_every_file_it_links_is_there():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_numbers_are_those_of_the_results():
    values = claims_of(ROOT / "results")
    marked = 0
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "results").rglob("README.md")]
    for path in [ROOT / "README.md", *pages]:
        for name, stated in marked_claims(path.read_text(encoding="utf-8")):
            assert stated == values[name], (
                f"{path.name}: {name}; run `cdvm benchmark claims results --fill {path}`"
            )
            marked += 1
    assert marked > 40


def test_pages_of_measurements_are_those_of_their_lines():
    made_by = {
        "questions/README.md": ("questions --table", questions.page),
        "models/README.md": ("models --table", pages.page),
        "program/README.md": ("relaxation --table", relaxation.page),
        "speed/README.md": ("speed", speed.page),
        "fashion_mnist/cnn.md": ("cnn --table", cnn.page),
        "tables/README.md": ("tables --table", tables.page),
    }
    for name, (module, made) in made_by.items():
        path = ROOT / "results" / name
        assert path.read_text(encoding="utf-8") == made(path.parent), f"python -m perf.{module}"


def test_numbers_of_models_are_those_of_their_lines():
    place = ROOT / "results" / "models"
    found = pages.summary(pages.wide_of(place))
    assert json.loads((place / "summary.json").read_text()) == found, "python -m perf.models --table"


def test_one_version():
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


def test_the_makefile_says_what_each_target_does():
    head, _, rules = (ROOT / "Makefile").read_text().partition("PYTHON ?=")
    for name in re.findall(r"^([a-z-]+):", rules, re.MULTILINE):
        assert name == "clean" or f"make {name}" in head, name
