"""What a pruner shows."""

from __future__ import annotations

import numpy as np
import pytest

from cdvm import CDVM, InputError, Split
from cdvm.selection import Selection


def test_a_file_is_never_replaced_unasked(pruner, tmp_path):
    chosen, path = pruner.select([12, 30]), tmp_path / "mine.html"
    path.write_text("mine")
    with pytest.raises(InputError, match=r"path='.*mine.html' is there already"):
        pruner.report(path, chosen)
    with pytest.raises(InputError, match=r"has no known ending: use \.html"):
        pruner.report(tmp_path / "mine.pdf", chosen)
    assert path.read_text() == "mine"
    pruner.report(path, chosen[0], force=True)
    assert path.read_text().startswith("<!doctype html>")


def test_what_cannot_be_reported_on_is_refused(pruner, tmp_path, table):
    path = tmp_path / "r.html"
    for wrong in ([], 3, [3]):
        with pytest.raises(InputError, match="selections: pass a Selection"):
            pruner.report(path, wrong)
    elsewhere = Split.from_arrays(np.eye(20), np.arange(20) % 2)
    other = Selection.of_rows(elsewhere, np.arange(3), method="x", seconds=0.0)
    with pytest.raises(InputError, match="selections: one was made of other rows"):
        pruner.report(path, other)
    with pytest.raises(InputError, match="table has 5 entries: use one for each of the table's 178 rows"):
        pruner.report(path, table=table[0][:5])
    with pytest.raises(InputError, match="groups has 5 entries"):
        pruner.report(path, groups=list("abcde"))
    assert not path.exists()


def test_a_notebook_shows_a_pruner_and_what_it_was_fitted_on(pruner, monkeypatch):
    from sklearn.base import clone

    plain, share = clone(pruner), pruner.outcomes_.design.inclusion
    assert "Fitted on" not in plain._repr_html_()
    assert plain._repr_mimebundle_()["text/html"].count("sk-top-container") >= 1
    monkeypatch.setattr(CDVM, "_select_all", None)  # solving would fail
    for shown in (pruner._repr_html_(), pruner._repr_mimebundle_()["text/html"]):
        assert f"Fitted on 178 rows, evaluated on 178 by 300 models of {share:.1%} of the rows each" in shown
        assert "sk-top-container" in shown
