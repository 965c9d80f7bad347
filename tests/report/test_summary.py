import json
from dataclasses import asdict

import pytest
from pages import a_run, plain_report

from cdvm import compare_with_random, make_learner
from cdvm.report.summary import doubts_about, judge, part_of, summarize


@pytest.mark.parametrize(
    ("kept", "rows", "words"),
    [
        (0.79, 100, "the 10 kept rows are no better than random rows (0.790 against 0.800±0.020"),
        (0.8, 100, "are no better than random rows"),
        (0.81, 100, "are not clearly better than random rows (0.810 against 0.800±0.020 on the other rows)"),
        (0.83, 100, "are not clearly better than random rows (0.830 against 0.800±0.020 on the other rows)"),
        (0.85, 100, ""),  # above by more than two standard errors
        (0.8, 10, ""),  # all rows are kept: nothing to compare
    ],
)
def test_rows_that_are_not_above_random_ones_are_a_warning(kept, rows, words):
    told = list(doubts_about(plain_report(kept=kept, candidates=rows)))
    assert len(told) == bool(words)
    assert words in "".join(told)


def test_scores_are_those_of_the_comparison_with_random_rows(pruner, chosen):
    run = a_run(pruner.split_, [s.rows for s in chosen])
    report = summarize(run, {"bayes": make_learner("naive_bayes")})
    assert json.loads(json.dumps(report)) == report
    for name, learner in (("ridge", run.learner), ("bayes", make_learner("naive_bayes"))):
        found = compare_with_random(run.split, learner, [s.rows for s in chosen], draws=20, seed=0, n_jobs=1)
        for line, expected in zip(report["budgets"].values(), found, strict=True):
            told = line["evaluated_with"][name]
            assert told == {part: asdict(comparison) for part, comparison in expected.items()}
    assert [line["rows"] for line in report["budgets"].values()] == [12, 30]
    assert [line["fraction"] for line in report["budgets"].values()] == [0.1, 0.25]
    assert (report["rows"], report["candidates"], report["evaluation"]) == (120, 120, "out_of_bag")
    assert [line["column"] for line in report["columns"]] == list(pruner.split_.preparation.report_["column"])


def test_the_part_that_had_the_least_part_in_choosing_decides():
    report = plain_report(kept=0.9)
    (line,) = report["budgets"].values()
    parts = line["evaluated_with"]["ridge"]
    assert (part_of(parts), judge(report, line)) == ("outside", "better")
    parts["validation"] = {**parts["outside"], "kept": 0.82}
    assert (part_of(parts), judge(report, line)) == ("validation", "unclear")
    parts["test"] = {**parts["outside"], "kept": 0.7}
    assert (part_of(parts), judge(report, line)) == ("test", "no better")
    assert judge({**report, "candidates": 10}, line) == "all rows"
