"""The page of a run: its numbers are the run's, nothing in a table can break it, and it stays small."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pages import LABELS, NASTY, nasty_table

from cdvm import CDVM, InputError, Split, Subsets, make_learner, select_with
from cdvm.report.html.breakdown import by_class, by_group
from cdvm.report.html.oddities import find_twins
from cdvm.report.html.page import page_of
from cdvm.report.html.plane import MOST_POINTS
from cdvm.report.run import Chosen, Run
from cdvm.report.summary import summarize
from cdvm.selection import Candidate, Selection

VOID = {"meta", "input", "br", "hr", "col", "link"}


class Reader(HTMLParser):
    """The texts of a page by element; complains about elements that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._inside: list[int] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(tag)
            self._inside.append(len(self.found) - 1)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
        self._inside.pop()

    def handle_data(self, data):
        for k in self._inside:
            self.found[k][2].append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        return ["".join(t) for name, a, t in self.found if name == tag and attributes.items() <= a.items()]


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def plane_in(text: str) -> dict:
    return json.loads(read(text).texts("script", id="plane")[0])


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return nasty_table()


@pytest.fixture(scope="module")
def pruner(table):
    features = table.drop(columns="label")
    return CDVM("logistic", effort="low", n_models=150, inclusion=0.15, n_jobs=1, random_state=0).fit(
        features, table["label"]
    )


@pytest.fixture(scope="module")
def chosen(pruner) -> list[Selection]:
    return pruner.select([12, 30])


@pytest.fixture(scope="module")
def text(pruner, chosen, table, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert pruner.report(path, chosen, table=table, groups=table["group"], name="<table>") == path
    return path.read_text(encoding="utf-8")


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


def test_numbers_are_those_of_the_selections(text, chosen, pruner):
    plane = plane_in(text)
    assert [len(some) for some in plane["kept"]] == [12, 30]
    for some, selection in zip(plane["kept"], chosen, strict=True):
        assert [plane["row"][k] for k in some] == selection.indices.tolist()
    cards = read(text).texts("ul", **{"class": "cards"})[0]
    assert "12 rows" in cards
    run = Run(
        name="t",
        split=pruner.split_,
        learner=pruner.learner_,
        learner_name="logistic",
        chosen=Chosen({"a": chosen[0], "b": chosen[1]}, "cdvm", {}),
        seed=pruner.seed_,
        jobs=1,
    )
    found = summarize(run)["budgets"]
    for line in found.values():
        part = line["evaluated_with"]["logistic"]["outside"]
        assert f"{part['kept']:.3f}" in cards
        assert f"{part['random']:.3f} ± {part['random_std']:.3f}" in cards


def test_a_click_tells_what_explain_tells(text, pruner, chosen):
    plane = plane_in(text)
    k = plane["kept"][0][3]
    told = pruner.explain(plane["row"][k], chosen[0], top=3)
    value, error, helps, hurts = plane["effects"][str(k)]
    assert value == pytest.approx(told.value, rel=1e-2)
    assert error == pytest.approx(told.standard_error, rel=1e-2)
    for lines, found in ((helps, told.helps), (hurts, told.hurts)):
        assert [line[0] for line in lines] == [x.row for x in found]
        assert [line[2] for line in lines] == pytest.approx([x.influence for x in found], rel=1e-2)


def test_rows_to_look_at_have_the_wrong_label_and_the_twins(text):
    reader = read(text)
    lines = {
        row: "".join(t)
        for tag, a, t in reader.found
        if tag == "tr"
        for row in re.findall(r"^\d+", "".join(t))
    }
    assert "label suspect" in lines["7"]
    assert lines["11"].startswith("11duplicate" + LABELS[1])
    assert "duplicate, other label" in lines["13"]


def a_run(split: Split, rows: list[np.ndarray], learner: str = "ridge") -> Run:
    sets = {str(k): Selection.of_rows(split, r, method="mine", seconds=0.0) for k, r in enumerate(rows)}
    return Run(
        name="t", split=split, learner=make_learner(learner), learner_name=learner,
        chosen=Chosen(sets, "mine", {}), jobs=1,
    )  # fmt: skip


@pytest.mark.parametrize("held", [0.0, 0.25])
def test_classes_and_groups_are_scored_where_the_set_is_not(held):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [80, 60, 20])
    X = rng.standard_normal((160, 4)) + 3 * np.eye(4)[y]
    split = Split.from_arrays(X, y, validation="out_of_bag", test_size=held, random_state=0)
    few = np.flatnonzero(split.y != 2)[::5]
    run = a_run(split, [few, np.arange(split.n_rows)])
    found = by_class(run)
    counts = np.bincount(split.y)
    assert found.rows == counts.tolist()
    assert found.kept == [np.bincount(split.y[few], minlength=3).tolist(), counts.tolist()]
    assert found.after[0][2] == 0.0  # a class that no row is kept of is never answered
    assert found.before[2] > 0.5
    assert found.part == ("held-out rows" if held else "rows outside each set")
    assert (found.after[1] == [None] * 3) == (not held)  # nothing is outside all rows
    if held:
        assert found.after[1] == found.before
    groups = np.where(np.arange(160) % 2, "a", None)
    grouped = by_group(run, groups, "side")
    assert grouped.names == ["(none)", "a"]
    assert sum(grouped.kept[0]) == len(few)
    weights = np.array(grouped.rows) - np.array(grouped.kept[0])
    right = np.average(grouped.after[0], weights=weights)
    outside = np.setdiff1d(np.arange(split.n_rows), few)
    said = make_learner("ridge").predict(split, Subsets.of([few], split.n_rows), split.X[outside])[0]
    assert right == pytest.approx((said == split.y[outside]).mean())


def test_twins_are_found_whatever_the_features_are():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    X[20] = X[4]
    X[30] = X[5] + 1e-4
    y = np.arange(60) % 2
    for features in (X, sparse.csr_array(X)):
        split = Split.from_arrays(features, y, validation="out_of_bag")
        twins, searched = find_twins(split)
        assert [(t.row, t.other) for t in twins] == [(20, 4), (30, 5)]
        assert twins[0].distance == 0 < twins[1].distance < 0.1
        assert searched == 59


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


def test_other_methods_stand_beside(pruner, chosen, tmp_path):
    others = select_with(pruner.split_, "logistic", "k_center", [12, 30], n_jobs=1)
    text = pruner.report(tmp_path / "r.html", [*chosen, *others]).read_text(encoding="utf-8")
    legend = read(text).texts("ul", **{"class": "legend"})[0]
    assert "cdvm" in legend
    assert "k_center" in legend
    assert text.count('class="other-0"') >= 2  # the curve and its legend


def test_a_file_is_never_replaced_unasked(pruner, chosen, tmp_path):
    path = tmp_path / "mine.html"
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
    other = Selection.of_rows(a_run(Split.from_arrays(np.eye(20), np.arange(20) % 2), [np.arange(3)]).split,
                              np.arange(3), method="x", seconds=0.0)  # fmt: skip
    with pytest.raises(InputError, match="selections: one was made of other rows"):
        pruner.report(path, other)
    with pytest.raises(InputError, match="table has 5 entries: use one for each of the table's 120 rows"):
        pruner.report(path, table=table[:5])
    with pytest.raises(InputError, match="groups has 5 entries"):
        pruner.report(path, groups=list("abcde"))
    assert not path.exists()


def test_a_notebook_shows_a_selection_without_solving_anything(chosen):
    shown = read(chosen[0]._repr_html_())
    cells = shown.texts("td")
    assert cells[0] == "12 of 120 rows, 10.0%"
    assert f"{chosen[0].gap:.2%} of the program's objective, at most" in cells
    way = Candidate("<script>x</script>", 0.9, 0.01, 3, 1.0, True)
    nasty = replace(
        chosen[0], method="<b>", fits=1200, optimism=0.0123, score=0.5, leaderboard=(way,), alpha=None
    )
    told = read(nasty._repr_html_())
    assert told.texts("script") == []
    assert told.texts("th")[-1] == "<script>x</script>, kept"
    assert told.texts("td")[1:] == [
        "<b>",
        "by 1,200 fits; 0.012 of its gain is optimism",
        "0.500 on the evaluation rows",
        "0.900 ± 0.010",
    ]


def test_a_notebook_shows_a_pruner_and_what_it_was_fitted_on(pruner, monkeypatch):
    from sklearn.base import clone

    plain = clone(pruner)
    assert "Fitted on" not in plain._repr_html_()
    assert plain._repr_mimebundle_()["text/html"].count("sk-top-container") >= 1
    monkeypatch.setattr(CDVM, "_select_all", None)  # solving would fail
    for shown in (pruner._repr_html_(), pruner._repr_mimebundle_()["text/html"]):
        assert "Fitted on 120 rows, evaluated on 120 by 150 models of 15.0% of the rows each" in shown
        assert "sk-top-container" in shown


def test_a_size_that_was_searched_for_is_told_with_its_curve(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.standard_normal((120, 3)) + 2.5 * y[:, None]
    pruner = CDVM("ridge", effort="low", n_models=60, inclusion=0.15, n_jobs=1, random_state=0).fit(X, y)
    found = pruner.smallest(within=0.1, folds=3, least=0.1)
    text = pruner.report(tmp_path / "r.html", found).read_text(encoding="utf-8")
    reader = read(text)
    assert reader.texts("p", **{"class": "lead"})[0].lower().startswith(str(found).lower())
    assert "on 120 rows that had no part in choosing" in reader.texts("figcaption")[0]
    assert f"{found.point.score:.3f} ± {found.point.score_error:.3f}" in text
    none = replace(found, selection=None)
    text = pruner.report(tmp_path / "none.html", none).read_text(encoding="utf-8")
    assert plane_in(text) is None
    assert read(text).texts("figcaption") == reader.texts("figcaption")[:1]


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
    root = Path(__file__).parents[2]
    text = (root / "docs" / "example-report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    command = read(text).texts("code")[0]
    assert command.startswith("cdvm prune --dataset digits --keep 5%,10%,30%")
    assert f"\n{command}\n" in (root / "docs" / "guide.md").read_text(encoding="utf-8")
    assert "(docs/example-report.html)" in (root / "README.md").read_text(encoding="utf-8")
    assert len(plane_in(text)["row"]) == plane_in(text)["n"]
