"""Which tables there are, and their files."""

from benchmark_frames import FEW, frame_of, line, run, shown

from cdvm.benchmark.tables.write import make_tables, write_tables


def test_all_rows_are_a_line_of_their_own_and_never_the_best():
    frame = frame_of(*FEW, line("pol", "All", 1000, 0, 0.99))
    lines = make_tables(frame)["results"].groups["pol"]
    assert [row[0].text for row in lines] == ["CDVM5k", "Random", "All rows"]
    assert not lines[-1][1].best
    assert lines[0][1].best


def test_every_table_of_a_whole_run_is_written(tmp_path):
    tables = write_tables(run(repetitions=2), tmp_path / "tables")
    assert set(tables) == {
        "results",
        "claims",
        "wins",
        "wins_refined",
        "winners",
        "paired",
        "refinement",
        "normalised",
        "runtime",
        "runtime_by_dataset",
        "by_inclusion",
        "by_models",
        "by_exposure",
        "chosen_kappa",
        "chosen_alpha",
        "overlap",
        "overlap_same_seed",
        "spectrum",
        "banzhaf_models",
        "nestedness",
        "out_of_bag_ends",
    }
    for name, report in tables.items():
        for suffix, text in ((".md", report.markdown()), (".csv", report.csv()), (".tex", report.latex())):
            assert (tmp_path / "tables" / (name + suffix)).read_text() == text
        assert report.title in shown(report)
        assert "nan" not in report.markdown().replace("nanm", "")
        widths = {len(row) for rows in report.groups.values() for row in rows}
        assert widths == {len(report.headings)}


def test_tables_follow_from_the_methods_at_hand():
    frame = frame_of(line("pol", "Random", 50, 0, 0.66), line("pol", "Random", 50, 1, 0.68))
    assert set(make_tables(frame)) == {
        "results",
        "claims",
        "winners",
        "normalised",
        "runtime",
        "runtime_by_dataset",
    }


def test_fewer_repetitions_are_marked_and_never_bold():
    frame = run(("pol",), 4)
    thin = frame["method"].isin(["CDVM+refine", "CDVM5k-p10"]) & (frame["repetition"] > 0)
    tables = make_tables(frame[~thin])
    text = tables["results"].markdown()
    refined = next(line for line in text.splitlines() if line.startswith("| CDVM+refine"))
    assert refined.count("(n = 1)") == 6
    assert "**" not in refined
    assert text.count("**") == 2 * 6  # the best of the others, once a budget
    assert "their number stands behind" in text
    whole = make_tables(frame)["results"].markdown()
    assert "n = " not in whole
    assert "stands behind" not in whole
