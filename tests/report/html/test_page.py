"""The page of a run: its numbers are the run's, nothing in a table can break it, and it stays small."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pages import LABELS, NASTY, a_run, plane_in, read

from cdvm import CDVM, Split
from cdvm.report.html.page import page_of
from cdvm.report.html.plane import MOST_POINTS
from cdvm.report.summary import summarize
from cdvm.selection import Selection


def test_the_page_is_whole_and_fetches_nothing(text):
    reader = read(text)
    assert not [
        a for _, attributes, _ in reader.found for a in attributes if a in ("src", "srcset", "onclick")
    ]
    assert all(a["href"].startswith("#") for tag, a, _ in reader.found if tag == "a")
    policy = next(a["content"] for tag, a, _ in reader.found if a.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert reader.texts("h1") == ["Which rows of <table> should be kept?"]
    ids = [a["id"] for _, a, _ in reader.found if "id" in a]
    assert len(set(ids)) == len(ids)


def test_what_a_table_holds_stays_text(text, table):
    reader = read(text)
    assert len([1 for tag, _, _ in reader.found if tag == "script"]) == 2  # the data and the page's own
    assert [tag for tag, _, _ in reader.found if tag in ("i", "b")].count("i") == len(
        [a for tag, a, _ in reader.found if tag == "i" and a.get("class")]
    )
    assert "alert(1)" in " ".join(reader.texts("th"))
    plane = plane_in(text)
    assert plane["cells"][0][3] == NASTY
    assert plane["classes"] == sorted(LABELS)
    assert plane["columns"] == list(table.columns)


def test_a_hundred_thousand_rows_make_a_page_below_5_mb():
    rng = np.random.default_rng(0)
    n = 100_000
    X = rng.standard_normal((n, 12))
    y = (X[:, 0] + rng.standard_normal(n) > 0).astype(int)
    split = Split.from_arrays(X, y, validation="out_of_bag")
    run = a_run(split, [np.arange(0, n, 20), np.arange(0, n, 3)])
    frame = pd.DataFrame(X).assign(words="a long word or two " * 20)
    text = page_of(run, summarize(run), command="x", frame=frame, progress=False)
    assert len(text.encode()) < 5_000_000
    plane = plane_in(text)
    assert len(plane["row"]) <= MOST_POINTS
    assert f"{len(plane['row']):,} of 100,000 rows are drawn, kept rows more often than others" in text
    kept = {plane["row"][k] for k in plane["kept"][1]}
    assert kept == {row for row in plane["row"] if row % 3 == 0}


@pytest.mark.parametrize(
    "kind", ["regression", "sparse", "raw columns", "validation", "one column", "one class kept"]
)
def test_pages_of_other_tables(kind, tmp_path):
    rng = np.random.default_rng(0)
    X, y, options, more = rng.standard_normal((80, 3)), np.arange(80) % 2, {}, ()
    X[:, 0] += 2 * y
    learner = "ridge"
    if kind == "regression":
        learner, y = "ridge_regression", X[:, 0] + 0.1 * rng.standard_normal(80)
    elif kind == "sparse":
        from scipy import sparse

        X = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
    elif kind == "raw columns":
        from sklearn.ensemble import HistGradientBoostingClassifier

        learner, options = HistGradientBoostingClassifier(max_iter=3), {"proxy": "ridge"}
        X = pd.DataFrame(X, columns=list("abc")).assign(name=np.where(y, "x", None))
    elif kind == "validation":
        more = (X[:20], y[:20])
    elif kind == "one column":
        X = X[:, :1]
    pruner = CDVM(learner, effort="low", n_models=40, inclusion=0.2, n_jobs=1, random_state=0, **options).fit(
        X, y, *more
    )
    keep = pruner.select(10)
    if kind == "one class kept":
        keep = Selection.of_rows(pruner.split_, np.arange(0, 20, 2), method="<mine>", seconds=0.0)
    text = pruner.report(tmp_path / "r.html", keep).read_text(encoding="utf-8")
    plane = plane_in(text)
    assert [plane["row"][k] for k in plane["kept"][0]] == keep.indices.tolist()
    assert len(plane["effects"]) == 80
    assert plane["own"] == (kind != "validation")
    assert "nan" not in re.sub(r"<style>.*?</style>|<script.*?</script>", "", text, flags=re.S).lower()


def test_a_table_that_grew_has_a_page(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.standard_normal((100, 3)) + 2 * y[:, None]
    pruner = CDVM("ridge", effort="low", n_models=60, inclusion=0.15, n_jobs=1, random_state=0).fit(
        X[:80], y[:80]
    )
    before = pruner.evidence_[0].n_models
    keep = pruner.update(X[80:], y[80:]).select(10)
    text = pruner.report(tmp_path / "r.html", keep, table=X).read_text(encoding="utf-8")
    plane = plane_in(text)
    assert [plane["row"][k] for k in plane["kept"][0]] == keep.indices.tolist()
    k = plane["kept"][0][-1]
    assert plane["effects"][str(k)][0] == pytest.approx(pruner.explain(plane["row"][k], keep).value, rel=1e-2)
    models = dict(zip(read(text).texts("dt"), read(text).texts("dd"), strict=True))["subset models"]
    assert int(models) == sum(o.n_models for o in pruner.evidence_) > before


def test_limits_that_bind_are_told_with_their_price(pruner, table, tmp_path):
    keep = pruner.select(12, groups=table["group"], at_least={"<i>south</i>": 11})
    assert keep.limits
    told = str(keep.limits[0])
    text = pruner.report(tmp_path / "r.html", keep).read_text(encoding="utf-8")
    assert f"10.0%, {told}." in read(text).texts("p", **{"class": "note"})
    assert told in read(keep._repr_html_()).texts("td")


def test_the_example_is_what_the_guide_says():
    root = Path(__file__).parents[3]
    text = (root / "docs" / "example-report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    command = read(text).texts("code")[0]
    assert command.startswith("cdvm prune --dataset digits --keep 5%,10%,30%")
    assert f"\n{command}\n" in (root / "docs" / "guide.md").read_text(encoding="utf-8")
    assert "(docs/example-report.html)" in (root / "README.md").read_text(encoding="utf-8")
    assert len(plane_in(text)["row"]) == plane_in(text)["n"]
