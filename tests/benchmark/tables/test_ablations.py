from benchmark_frames import frame_of, line, run

from cdvm.benchmark.tables.ablations import by_inclusion, by_models
from cdvm.benchmark.tables.write import make_tables


def test_rows_of_another_split_each_time_are_not_compared_between_repetitions():
    tables = make_tables(run(("pol",), 2, protocol="clean"))
    assert "overlap_same_seed" in tables
    assert not {"overlap", "spectrum"} & set(tables)


def test_variants_are_compared_in_the_repetitions_that_all_have():
    frame = run(("pol",), 2)
    thin = (frame["method"] == "CDVM5k-p10") & (frame["repetition"] > 0)
    inclusion, models = (table(frame[~thin]).markdown() for table in (by_inclusion, by_models))
    assert "pol, 1 repetition\n" in inclusion
    assert "**" not in inclusion
    assert "pol, 2 repetitions" in models
    assert "**" in models


def test_variants_are_lines_budgets_columns_and_what_is_near_the_best_is_bold():
    accuracies = {"CDVM5k": (0.70, 0.72), "CDVM5k-p02": (0.60, 0.62), "CDVM5k-p10": (0.71, 0.73)}
    lines = [
        line("pol", name, budget, r, accuracy - 0.1 * (budget == 50))
        for name, both in accuracies.items()
        for budget in (50, 100)
        for r, accuracy in enumerate(both)
    ]
    report = by_inclusion(frame_of(*lines))
    assert report.headings == ["inclusion", "10 %", "5 %"]
    (rows,) = report.groups.values()
    assert [[cell.text for cell in row] for row in rows] == [
        ["0.02", "0.610 ± 0.010", "0.510 ± 0.010"],
        ["0.03", "0.710 ± 0.010", "0.610 ± 0.010"],
        ["0.1", "0.720 ± 0.010", "0.620 ± 0.010"],
    ]
    assert [row[1].best for row in rows] == [False, True, True]
    assert by_inclusion(frame_of(*lines[:4])) is None
