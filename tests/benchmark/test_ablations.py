"""Ablations against plain loops."""

import itertools

import numpy as np
import pytest
from benchmark_frames import GRID, frame_of, line, run
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm.benchmark.ablations import (
    BANDS,
    Variant,
    _bands,
    banzhaf_models,
    by_exposure,
    by_inclusion,
    by_models,
    chosen,
    nestedness,
    out_of_bag_ends,
    overlap,
    spectrum,
)
from cdvm.benchmark.published import LEVELS
from cdvm.benchmark.tables.summary import normalised_performance


@pytest.fixture(scope="module")
def frame():
    return run(("pol", "cifar10"), 3)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("CDVM5k", (5000, 0.03, "grid")),
        ("CDVM3k-nokappa", (3000, 0.03, "nokappa")),
        ("CDVM10k-p05-default", (10000, 0.05, "default")),
        ("CDVM", None),
        ("CDVM5k@5", None),
        ("CDVM+refine", None),
        ("Banzhaf10k", None),
    ],
)
def test_names_say_how_a_variant_was_estimated(name, variant):
    assert Variant.of(name) == variant


def test_inclusions_include_the_usual_one(frame):
    table = by_inclusion(frame)
    assert sorted(set(table["inclusion"])) == [0.02, 0.03, 0.05, 0.1]
    usual = table.query("dataset == 'pol' and inclusion == 0.03 and percent == 5")["accuracy"].item()
    rows = frame.query("dataset == 'pol' and method == 'CDVM5k' and budget == 50")
    assert usual == pytest.approx(rows["accuracy"].mean())


def test_a_variant_by_two_names_is_counted_once():
    table = by_inclusion(frame_of(line("pol", "CDVM5k", 50, 0, 0.7), line("pol", "CDVM5k-p03", 50, 0, 0.7)))
    assert len(table) == 1


def test_models_with_and_without_kappa(frame):
    table = by_models(frame)
    kinds = table[["n_models", "kappa"]].drop_duplicates().to_numpy().tolist()
    assert kinds == [[n, k] for n in (3000, 5000, 10000) for k in (False, True)]
    assert table["seconds"].to_list() == pytest.approx([4.0] * len(table))


def test_exposure_is_p_times_models_and_normalised_among_variants(frame):
    table = by_exposure(frame)
    assert dict(zip(table["method"], table["seen"], strict=True)) == {
        "CDVM3k": 90.0,
        "CDVM5k-p02": 100.0,
        "CDVM5k": 150.0,
        "CDVM5k-p05": 250.0,
        "CDVM10k": 300.0,
        "CDVM5k-p10": 500.0,
    }
    part = frame[frame["method"].isin(table["method"])].assign(percent=(100 * frame["retained"]).round(1))
    part = part.groupby(["dataset", "percent", "method"], as_index=False)["accuracy"].mean()
    expected = normalised_performance(part)
    assert table["normalised"].to_list() == pytest.approx(expected[table["method"]].to_list())


def test_chosen_shares_are_of_all_runs_at_a_budget(frame):
    table = chosen(frame)
    assert table.groupby(["dataset", "percent"])["fraction"].sum().to_list() == pytest.approx([1.0] * 18)
    everywhere = table[table["dataset"] == "all"].set_index("percent")
    assert everywhere.loc[5.0, "kappa"] == GRID[0]
    assert everywhere.loc[30.0, "mean"] == pytest.approx(GRID[4])
    alpha = chosen(frame, "alpha").query("dataset == 'pol' and percent == 10").set_index("alpha")["fraction"]
    rows = frame.query("dataset == 'pol' and method == 'CDVM5k' and budget == 100")["alpha"]
    for value, fraction in alpha.items():
        assert fraction == pytest.approx((rows == value).mean())
    assert chosen(frame, method="Random").empty


@pytest.mark.parametrize("same_seed", [False, True])
def test_overlap_matches_sets_of_rows(frame, same_seed):
    found = overlap(frame, same_seed=same_seed)
    for (a, level_a), (b, level_b) in itertools.product(enumerate(LEVELS), enumerate(LEVELS)):
        over_datasets = []
        for dataset in ("pol", "cifar10"):
            rows = frame[(frame["dataset"] == dataset) & (frame["method"] == "CDVM5k")]
            kept = {
                (round(100 * r), k): {int(i) for i in rows_kept}
                for r, k, rows_kept in rows[["retained", "repetition", "kept"]].itertuples(index=False)
            }
            fractions = [
                len(kept[level_a, r] & kept[level_b, s]) / min(len(kept[level_a, r]), len(kept[level_b, s]))
                for r, s in itertools.product(range(3), repeat=2)
                if (r == s) == same_seed
            ]
            over_datasets.append(np.mean(fractions))
        assert found.iloc[a, b] == pytest.approx(np.mean(over_datasets))
    if same_seed:
        assert np.diag(found).tolist() == [1.0] * 6


def test_overlap_needs_two_repetitions():
    assert overlap(frame_of(line("pol", "CDVM5k", 50, 0, 0.7))).isna().all(axis=None)


def _band(peaks):
    """The band of one row, by the paper's words."""
    majority = sum(f > 0.5 for f in peaks)
    if majority == 0:
        top = max(peaks)
        return (
            "never"
            if top < 0.01
            else "rarely"
            if top < 0.1
            else "occasionally"
            if top < 0.3
            else "approaching"
        )
    if majority == len(peaks):
        return "stable core"
    return {1: "budget-specific", 2: "useful, low", 3: "useful, low"}.get(majority, "useful, high")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 100), min_size=6, max_size=6), min_size=1, max_size=20))
def test_bands_partition_the_rows(counts):
    often = np.array(counts, dtype=float).T / 100
    names = [_band([c / 100 for c in row]) for row in counts]
    assert _bands(often) == pytest.approx([names.count(band) / len(names) for band in BANDS])


@pytest.mark.parametrize(
    ("frequency", "band"),
    [(0.0, "never"), (0.01, "rarely"), (0.1, "occasionally"), (0.3, "approaching"), (0.5, "approaching")],
)
def test_edges_of_the_bands(frequency, band):
    assert dict(zip(BANDS, _bands(np.full((6, 1), frequency)), strict=True))[band] == 1.0


def test_spectrum_counts_rows_of_the_training_set(frame):
    table = spectrum(frame).set_index("dataset")
    rows = frame[(frame["dataset"] == "pol") & (frame["method"] == "CDVM5k")]
    often = {
        b: np.bincount(np.concatenate(part["kept"].to_list()), minlength=1000) / 3
        for b, part in rows.groupby("budget")
    }
    names = [_band([often[b][i] for b in often]) for i in range(1000)]
    for band in BANDS:
        assert table.loc["pol", band] == pytest.approx(names.count(band) / 1000)
    assert table[list(BANDS)].sum(axis=1).to_list() == pytest.approx([1.0, 1.0])
    assert table["majority"].is_monotonic_decreasing


def test_curves_follow_methods_to_all_budgets(frame):
    assert set(banzhaf_models(frame)["method"]) == {"Banzhaf", "Banzhaf10k", "Random"}
    assert set(out_of_bag_ends(frame)["method"]) == {"DataOOB", "DataOOB-high", "Random"}
    table = nestedness(frame)
    assert table.groupby("method")["target"].first().dropna().to_dict() == {"CDVM5k@5": 5.0}
    assert sorted(set(table["percent"])) == [*LEVELS, 40.0, 60.0, 80.0, 100.0]


def test_curves_are_empty_without_their_methods():
    frame = frame_of(line("pol", "Banzhaf", 50, 0, 0.7), line("pol", "Random", 50, 0, 0.6))
    assert banzhaf_models(frame).empty
    assert out_of_bag_ends(frame).empty
    assert nestedness(frame).empty


def test_the_error_over_exposure_is_that_of_differences_within_a_repetition():
    luck = {0: 0.00, 1: 0.05, 2: -0.03}
    lines = [
        line("pol", method, budget, r, 0.7 + skill + shift)
        for method, skill in (("CDVM3k", 0.0), ("CDVM5k", 0.01), ("CDVM10k", 0.03))
        for budget in (50, 100)
        for r, shift in luck.items()
    ]
    table = by_exposure(frame_of(*lines))
    assert table["repetitions"].tolist() == [3, 3, 3]
    np.testing.assert_allclose(table["normalised"], [0, 1 / 3, 1])
    np.testing.assert_allclose(table["stderr"], 0, atol=1e-12)  # luck is common to all
    lines[0]["accuracy"] += 0.06
    uneven = by_exposure(frame_of(*lines))
    scale = np.ptp(uneven["normalised"]) / np.ptp(uneven["accuracy"])
    # .03 higher over both budgets in one repetition of three, less a third of that for the mean of all
    np.testing.assert_allclose(uneven["stderr"].iloc[0], scale * np.std([0.02, 0, 0], ddof=1) / np.sqrt(3))
