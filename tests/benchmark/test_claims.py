import json

import pytest
from benchmark_frames import frame_of, line, run

from cdvm.benchmark.claims import claims_of, fill_claims
from cdvm.benchmark.protocol import get_protocol
from cdvm.benchmark.results import Results
from cdvm.benchmark.tables.write import make_tables


def written(home, name, frame, protocol="paper"):
    results = Results.create(home / name, get_protocol(protocol))
    frame.to_parquet(results.path / "results.parquet", index=False)
    return frame


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("results")
    written(place, "paper", run(("pol", "cifar10"), repetitions=3))
    return place


def test_tables_are_claims_and_fill_a_page(home):
    values = claims_of(home)
    frame = Results.open(home / "paper").frame
    table = make_tables(frame)["runtime"].body()
    page = fill_claims("before\n<!--claim paper.table.runtime-->old<!--/claim-->\nafter", values)
    assert page == f"before\n<!--claim paper.table.runtime-->\n\n{table}\n\n<!--/claim-->\nafter"
    assert fill_claims(page, values) == page
    assert "### pol" in values["paper.table.refinement"]


def test_differences_to_the_paper_are_told_where_its_features_are_used(home):
    values = claims_of(home)
    low, high = map(float, values["paper.apart.CDVM5k.pol"].split(" to "))
    assert low <= high
    assert "paper.apart.CDVM5k.cifar10" not in values
    assert values["paper.apart.CDVM5k"] == values["paper.apart.CDVM5k.pol"]  # the one table with the paper's
    assert int(values["paper.core_minutes"]) >= int(values["paper.core_minutes.tabular"])


def test_core_minutes_count_preparing_once_a_repetition_and_choosing_at_every_budget(tmp_path):
    def timed(method, budget, r, prepare, optimise):
        told = {"seconds_prepare": prepare, "seconds_optimise": optimise}
        return line("pol", method, budget, r, 0.8) | told

    lines = [timed("CDVM5k", budget, r, 60.0, 30.0) for budget in (50, 100) for r in range(3)]
    lines += [timed("CDVM3k", 50, 0, 120.0, 0.0)]  # an ablation, which the table does not have
    written(tmp_path, "paper", frame_of(*lines))
    written(tmp_path, "motivation", frame_of(timed("Random", 700, 0, 0.0, 60.0)))
    values = claims_of(tmp_path)
    assert values["paper.core_minutes"] == "6"
    assert values["paper.core_minutes.whole"] == "8"
    assert values["motivation.core_minutes.whole"] == "1"
    assert values["core_minutes.whole"] == "9"


def test_trends_are_paired_with_cdvm5k_over_the_repetitions_both_have(tmp_path):
    lines = [
        line("pol", method, budget, r, 0.7 + skill * budget / 75 + luck)
        for method, skill, count in (("CDVM5k", 0.0, 3), ("CDVM3k", -0.03, 2))
        for budget in (50, 100)
        for r, luck in list(enumerate((0.0, 0.04, 0.3)))[:count]
    ]
    written(tmp_path, "paper", frame_of(*lines, *(line("pol", "Random", 50, r, 0.5) for r in range(3))))
    values = claims_of(tmp_path)
    assert values["paper.trend.CDVM3k"] == values["paper.trend.CDVM3k.pol"] == "-0.0300 ± 0.0000"
    assert values["paper.trend.CDVM3k.pol.5"] == "-0.0200 ± 0.0000"
    assert values["paper.trend.CDVM3k.pol.10"] == "-0.0400 ± 0.0000"


def test_settings_won_and_lost_against_all_rows_are_counted_by_the_signed_rank_test(tmp_path):
    better = {50: 0.01, 100: -0.01, 150: 0.0}
    lines = [line(name, "All", 1000, r, 0.7 + 0.01 * r) for name in ("pol", "adult") for r in range(8)]
    lines += [
        line(name, "CDVM+refine", budget, r, 0.7 + 0.01 * r + (apart + 0.0001 * r if name == "pol" else 0.0))
        for name in ("pol", "adult")
        for budget, apart in better.items()
        for r in range(8)
    ]
    written(tmp_path, "paper", frame_of(*lines))
    values = claims_of(tmp_path)
    assert values["paper.refined.against_all_rows"] == "2 / 1 / 3"  # 0.0001 r is above 0 as well


def test_settings_in_which_a_class_is_lost_are_named(tmp_path):
    lines = [
        line("pol", method, budget, r, 0.7, worst_class=0.0 if (method, budget) == ("InfOpt", 50) else 0.4)
        for method in ("InfOpt", "Random")
        for budget in (50, 100)
        for r in range(3)
    ]
    written(tmp_path, "clean", frame_of(*(one | {"protocol": "clean"} for one in lines)), "clean")
    values = claims_of(tmp_path)
    assert values["clean.lost_class.InfOpt"] == "pol at 5 % (3 of 3)"
    assert values["clean.lost_class.Random"] == "nowhere"


def test_what_motivation_holds_is_in_tables_of_the_paper_alone(tmp_path):
    written(tmp_path, "paper", run(("pol",), repetitions=3, ablations=False))
    before = claims_of(tmp_path)
    more = frame_of(
        *(
            line("pol", method, budget, 0, 0.7)
            for method in ("DataOOB", "DataOOB-high", "Random")
            for budget in (20, 50)
        )
    )
    written(tmp_path, "motivation", more)
    values = claims_of(tmp_path)
    assert "paper.table.out_of_bag_ends" not in before
    assert "paper.table.out_of_bag_ends" in values
    assert values["paper.repetitions"] == before["paper.repetitions"] == "3"


def test_seconds_from_pixels_to_rows_are_added_up(tmp_path):
    place = tmp_path / "fashion_mnist"
    place.mkdir()
    (place / "pixels.json").write_text(json.dumps({"models": 8.25, "solving": 12.5, "gap": 0.0094}))
    values = claims_of(tmp_path)
    assert values == {"fashion_mnist.gap": "0.94", "fashion_mnist.seconds": "21"}


def test_promises_are_counted_among_the_sets_that_were_found(tmp_path):
    written(tmp_path, "paper", run(("pol",), repetitions=3))
    assert "questions.kept" not in claims_of(tmp_path)
    runs = [
        {"fraction": 0.5, "kept": True},
        {"fraction": 0.8, "kept": False},
        {"fraction": None},
        {"refused": "few"},
    ]
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions" / "logistic.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    values = claims_of(tmp_path)
    assert (values["questions.runs"], values["questions.kept"]) == ("4", "1 of 2")
