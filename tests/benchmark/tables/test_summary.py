"""Means, the paper's table beside them, normalised performance and seconds, against plain loops."""

import numpy as np
import pandas as pd
import pytest
from benchmark_frames import BUDGETS, frame_of, line, run

from cdvm import InputError
from cdvm.benchmark.published import LEVELS, RUNTIMES, paper_results
from cdvm.benchmark.tables.summary import (
    by_repetition,
    checked,
    compare_with_paper,
    even,
    in_order,
    is_ablation,
    main_rows,
    means,
    normalised,
    normalised_performance,
    runtime_summary,
    runtimes,
)


def test_deviations_are_over_all_draws_and_pairs_over_repetitions():
    frame = frame_of(
        line("pol", "Random", 50, 0, 0.6, draw=0),
        line("pol", "Random", 50, 0, 0.7, draw=1),
        line("pol", "Random", 50, 1, 0.8, draw=0),
        line("pol", "Random", 50, 1, 0.9, draw=1),
    )
    found = means(frame).iloc[0]
    assert found["accuracy"] == pytest.approx(0.75)
    assert found["std"] == pytest.approx(np.std([0.6, 0.7, 0.8, 0.9], ddof=1))
    assert found["worst_class"] == pytest.approx(0.65)
    assert (found["budget"], found["percent"], found["repetitions"]) == (50, 5.0, 2)
    assert by_repetition(frame).to_list() == pytest.approx([0.65, 0.85])


def test_difference_is_ours_minus_the_papers():
    table = compare_with_paper(frame_of(line("pol", "CDVM5k", 50, 0, 0.76), line("pol", "New", 50, 0, 0.5)))
    assert table["method"].to_list() == ["CDVM5k", "New"]
    assert table["difference"].to_list() == pytest.approx([0.008, np.nan], nan_ok=True)


def test_another_protocol_is_not_set_beside_the_paper():
    frame = frame_of(line("pol", "CDVM5k", 50, 0, 0.76, protocol="clean"))
    assert "paper" not in compare_with_paper(frame).columns


def test_budgets_in_proportion_meet_the_papers_levels():
    frame = frame_of(line("pol", "CDVM5k", 7, 0, 0.76, n=142))
    assert compare_with_paper(frame)["percent"].to_list() == [4.9]
    frame = frame_of(line("pol", "CDVM5k", 20, 0, 0.76, n=400))
    assert compare_with_paper(frame)["paper"].to_list() == [0.752]


def test_ablations_and_far_budgets_stay_out_of_the_main_table():
    frame = run(("pol",), 1)
    rows = main_rows(frame)
    assert not rows["method"].map(is_ablation).any()
    assert set(rows["percent"]) == {*LEVELS, 100.0}
    assert set(rows.loc[rows["percent"] == 100, "method"]) == {"All"}
    assert {"CDVM3k", "Banzhaf10k", "CDVM5k@5"} <= set(frame["method"])


def test_other_budgets_are_the_main_ones_where_no_usual_one_was_run():
    frame = frame_of(line("wine", "CDVM5k", 12, 0, 0.9, n=100), line("wine", "Random", 40, 0, 0.8, n=100))
    assert main_rows(frame)["percent"].to_list() == [12.0, 40.0]


def test_order_is_the_papers_then_others_then_random_and_all():
    names = ["All", "Random", "Zebra", "Banzhaf", "CDVM5k", "CDVM+refine"]
    assert in_order(names) == ["CDVM+refine", "CDVM5k", "Banzhaf", "Zebra", "Random", "All"]
    assert in_order(["cifar10", "wine", "pol"]) == ["pol", "cifar10", "wine"]


def test_normalised_performance_is_the_papers_formula():
    table = means(main_rows(run(("pol", "adult"), 2)))
    table = table[table["method"] != "All"]
    at = table.set_index(["dataset", "percent", "method"])["accuracy"]
    methods = sorted(set(table["method"]))
    settings = [(d, p) for d in ("pol", "adult") for p in LEVELS]
    low = sum(min(at[d, p, m] for m in methods) for d, p in settings)
    high = sum(max(at[d, p, m] for m in methods) for d, p in settings)
    found = normalised_performance(table)
    for method in methods:
        total = sum(at[d, p, method] for d, p in settings)
        assert found[method] == pytest.approx((total - low) / (high - low))
    assert found.between(0, 1).all()


def test_normalised_performance_leaves_out_methods_without_all_settings():
    table = means(run(("pol", "nomao"), 1, ablations=False).query("method != 'All'"))
    assert "CDVM-n" not in normalised_performance(table).index
    one = pd.DataFrame(
        {"dataset": "pol", "percent": [5.0, 5.0], "method": ["a", "b"], "accuracy": [0.5, 0.5]}
    )
    assert normalised_performance(one).isna().all()


def test_the_papers_own_normalised_performance_stands_beside_ours():
    table = normalised(run(repetitions=1, ablations=False)).set_index("method")
    theirs = paper_results()
    theirs = theirs[theirs["dataset"].isin(["pol", "nomao", "cifar10"]) & (theirs["method"] != "CDVM-n")]
    expected = normalised_performance(theirs, "paper")
    pd.testing.assert_series_equal(
        table["paper"].dropna(), expected[table["paper"].dropna().index], check_names=False
    )
    inside = table.loc[expected.index, "among_paper_methods"]
    pd.testing.assert_series_equal(inside, _among(expected.index), check_names=False)
    assert table.loc["CDVM+refine", "among_paper_methods"] > 1
    assert table["normalised"].notna().all()


def _among(methods):
    table = means(main_rows(run(repetitions=1, ablations=False)))
    return normalised_performance(table[table["method"].isin(methods)])[methods]


def test_preparation_is_paid_once_and_optimisation_for_every_budget():
    frame = frame_of(
        *(
            line(
                "pol",
                "CDVM5k",
                budget,
                repetition,
                0.7,
                seconds_prepare=10.0 + repetition,
                seconds_optimise=0.5,
            )
            for budget in BUDGETS
            for repetition in (0, 2)
        )
    )
    found = runtimes(frame).iloc[0]
    assert found[["prepare", "optimise", "total"]].to_list() == pytest.approx([11.0, 3.0, 14.0])
    beside = runtime_summary(frame).iloc[0]
    assert beside["paper"] == "97 s + 10 s"
    assert RUNTIMES["InfOpt"].total == pytest.approx(6 * 3600 + 3)


def test_results_without_their_columns_or_rows_are_refused():
    frame = frame_of(line("pol", "CDVM5k", 50, 0, 0.76))
    with pytest.raises(InputError, match="no column retained, accuracy"):
        checked(frame.drop(columns=["retained", "accuracy"]))
    with pytest.raises(InputError, match="no rows"):
        checked(frame.iloc[:0])
    with pytest.raises(InputError, match="mix the protocols clean, paper"):
        checked(frame_of(line("pol", "A", 50, 0, 0.7), line("pol", "A", 50, 0, 0.7, protocol="clean")))


def test_even_rows_are_the_repetitions_that_every_method_has_at_every_budget():
    frame = frame_of(
        *(line("pol", "CDVM5k", budget, r, 0.7) for budget in (50, 100) for r in range(4)),
        *(line("pol", "CDVM3k", budget, r, 0.6) for budget in (50, 100) for r in (1, 2)),
        line("pol", "CDVM3k", 50, 3, 0.6),  # not at the other budget
        line("nomao", "CDVM5k", 50, 0, 0.8),
    )
    found = even(frame)
    assert {(d, r) for d, r in zip(found["dataset"], found["repetition"], strict=True)} == {
        ("pol", 1),
        ("pol", 2),
        ("nomao", 0),
    }
    assert len(found) == 2 * 2 * 2 + 1


def test_the_papers_values_stand_only_beside_the_papers_features():
    table = compare_with_paper(run(repetitions=2, ablations=False))
    known = table[table["paper"].notna()]
    assert set(known["dataset"]) == {"pol", "nomao"}
    assert "cifar10" in set(table["dataset"])


def test_the_error_of_a_mean_is_that_over_all_its_sets():
    values = [0.5, 0.6, 0.8]
    frame = frame_of(*(line("pol", "CDVM5k", 50, r, value) for r, value in enumerate(values)))
    assert means(frame)["stderr"].item() == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
