"""cdvm prune --report: where the page goes, and what it is refused for."""

import json
from html import unescape

import pytest
from pages import nasty_table

FAST = ["--target", "label", "--learner", "ridge", "--models", "60", "--jobs", "1", "--keep", "8,20"]


@pytest.fixture
def table(tmp_path):
    nasty_table().to_csv(tmp_path / "train.csv", index=False)
    return tmp_path / "train.csv"


def test_a_page_beside_the_kept_rows_has_their_numbers(command, table, tmp_path):
    out = tmp_path / "kept"
    words = ["prune", table, *FAST, "--out", out, "--report", out / "report.html", "--groups", "group"]
    code, said, errors = command(*words)
    assert code == 0, errors
    assert "report.html" in said
    assert sorted(p.name for p in out.iterdir()) == [
        "kept-20rows.csv", "kept-8rows.csv", "report.html", "selection.csv", "summary.json",
    ]  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    for line in json.loads((out / "summary.json").read_text())["budgets"].values():
        assert f"{line['evaluated_with']['ridge']['outside']['kept']:.3f}" in page
    assert "Rows and scores by group" in page
    assert "&lt;i&gt;south&lt;/i&gt;" in page
    assert f"cdvm prune {table} --target label" in unescape(page)
    before = page
    code, _, errors = command(*words)
    assert code == 2
    assert "is not empty" in errors
    assert command(*words, "--force")[0] == 0
    assert (out / "report.html").read_text(encoding="utf-8").split("<main>")[0] == before.split("<main>")[0]


def test_a_page_alone_and_what_stands_in_its_way(command, table, tmp_path, monkeypatch):
    page = tmp_path / "r.html"
    page.write_text("mine")
    (tmp_path / "link.html").symlink_to(table)
    refused = {
        ("--report", page): f"error: --report {page} is there already: name another file, or add --force",
        ("--report", tmp_path / "link.html", "--force"): f"--report would overwrite {table}, which is read",
        ("--report", tmp_path / "r.pdf"): "has no known ending: use .html, .htm",
        ("--report", tmp_path / "no" / "r.html"): "name a file in a directory that exists",
        ("--out", tmp_path / "new", "--report", tmp_path / "new" / "r.txt"): "has no known ending",
        ("--groups", "group"): "--groups is about --at-least, --at-most and --report: add one of them",
        ("--report", tmp_path / "x.html", "--groups", "colour"): "--groups colour is no column of the table",
    }
    monkeypatch.setattr("cdvm.pruner.request.choose_rows", None)  # work would fail
    for words, reason in refused.items():
        code, _, errors = command("prune", table, *FAST, *words)
        assert code == 2, errors
        assert reason in errors
        assert errors.count("\n") == 1
    assert page.read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_other_methods_have_a_page_too(command, table, tmp_path):
    page = tmp_path / "r.html"
    page.write_text("mine")
    words = ["prune", table, "--target", "label", "--learner", "ridge", "--keep", "8", "--method", "k_center"]
    code, _, errors = command(*words, "--jobs", "1", "--report", page, "--force", "--groups", "group")
    assert code == 0, errors
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert '"effects":{}' in text
    assert "Rows and scores by group" in text
