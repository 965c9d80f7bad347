from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from pages import plain_report, plane_in, read

from cdvm import CDVM, select_with
from cdvm.report.html.answer import answer, leaderboard
from cdvm.report.run import Chosen, Run
from cdvm.report.summary import summarize


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


def test_other_methods_stand_beside(pruner, chosen, tmp_path):
    others = select_with(pruner.split_, "logistic", "k_center", [12, 30], n_jobs=1)
    text = pruner.report(tmp_path / "r.html", [*chosen, *others]).read_text(encoding="utf-8")
    legend = read(text).texts("ul", **{"class": "legend"})[0]
    assert "cdvm" in legend
    assert "k_center" in legend
    assert text.count('class="other-0"') >= 2  # the curve and its legend


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


def test_the_first_sentence_and_the_card_say_how_much_better_the_rows_are():
    report = plain_report(kept=0.912, random=0.834, random_std=0.01, all_rows=0.95)
    shown = read(answer(report, [90]))
    assert shown.texts("p", **{"class": "lead"}) == [
        "Of 100 rows, 10 (10.0%) give ridge an accuracy of 0.912 on 90 other rows: 0.078 above random rows "
        "and 0.038 below all rows."
    ]
    assert shown.texts("li") == [
        "10.0% · 10 rows0.912better than random rows7.8 standard deviations above random rows 0.834 ± 0.010"
        "all rows 0.950"
    ]
    sample = 1.96 * math.sqrt(0.912 * 0.088 / 90)
    assert f"up to ± {sample:.3f} (95 %)" in shown.texts("p", **{"class": "note"})[1]


def test_ways_are_compared_where_there_were_several():
    report = plain_report() | {"ways_compared_by": "accuracy"}
    assert leaderboard(report) is None
    way = {
        "name": "<herding>",
        "score": 0.8,
        "standard_error": 0.01,
        "fits": 1200,
        "seconds": 1.0,
        "kept": True,
    }
    other = way | {"name": "random", "score": 0.7, "kept": False}
    (line,) = report["budgets"].values()
    line["leaderboard"] = [way, other]
    shown = read(leaderboard(report))
    assert shown.texts("th", scope="row") == ["<herding> – kept", "random"]
    assert shown.texts("td") == ["0.800 ± 0.010", "", "1,200", "1.0", "0.700 ± 0.010", "", "1,200", "1.0"]
    middles = [float(a["cx"]) for name, a, _ in shown.found if name == "circle"]
    assert 6 < middles[1] < middles[0] < 114
