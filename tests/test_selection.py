from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars
import pyarrow
import pytest
from pages import read
from scipy import sparse
from sklearn.base import clone

from cdvm import InputError, Program, Selection, solve
from cdvm.selection import Candidate


def test_selection_says_what_was_chosen_and_how(table, pruner):
    keep = pruner.select(30)
    assert len(keep) == keep.mask.sum() == len(keep.indices) == 30
    assert (np.diff(keep.indices) > 0).all()
    assert keep.mask.shape == (178,)
    assert np.isin(keep.indices, keep.candidates).all()
    assert (keep.candidates[keep.rows] == keep.indices).all()
    assert keep.weights.sum() == pytest.approx(30)
    program = Program(pruner.attribution_.dense(), 30)
    assert keep.kappa == pytest.approx(program.kappa)
    chosen = np.isin(np.arange(program.n_rows), keep.rows).astype(float)
    assert keep.objective == pytest.approx(program.objective(chosen))
    assert keep.objective <= solve(program).objective + 1e-9 <= keep.bound + 2e-6
    assert keep.gap == pytest.approx((keep.bound - keep.objective) / keep.bound, abs=1e-9)
    assert "30 of" in repr(keep)


def test_a_refined_selection_says_so_and_shows_no_gap(pruner):
    plain = pruner.select(8)
    assert not plain.refined
    assert f"gap={plain.gap:.2%}" in repr(plain)
    refined = clone(pruner).set_params(refine=100).fit_outcomes(pruner.split_, pruner.outcomes_).select(8)
    assert refined.refined
    assert refined.gap is not None
    assert "gap" not in repr(refined)
    assert f"refined by {refined.fits} fits" in repr(refined)
    other = Selection.of_rows(pruner.split_, np.arange(5), method="banzhaf", seconds=0.0)
    assert repr(other) == "Selection(5 of 178 rows, method='banzhaf')"


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_the_kept_rows_of_any_sparse_format(rng, kind, make):
    X = rng.normal(size=(178, 4))
    keep = Selection(np.arange(3, 40, 5), 178, np.arange(178), np.ones(178), "rows", 0.0)
    kept = keep.take(make(X).asformat(kind))
    assert kept.format == kind
    assert sparse.isspmatrix(kept) == (make is sparse.csr_matrix)
    assert (kept.toarray() == X[keep.indices]).all()


def test_the_kept_rows_of_other_frames_and_columns(pruner, table):
    keep, (X, y) = pruner.select(20), table
    values, names = X.to_numpy()[keep.indices], y.to_numpy()[keep.indices].tolist()
    arrow = pyarrow.Table.from_pandas(X, preserve_index=False)
    for frame in (arrow, polars.from_pandas(X.reset_index(drop=True)), arrow.to_batches()[0]):
        kept = keep.take(frame)
        assert type(kept) is type(frame)
        assert (kept.to_pandas().to_numpy() == values).all()
    for column in (
        pyarrow.array(y),
        pyarrow.chunked_array([y]),
        polars.Series(y.tolist()),
        list(y),
        tuple(y),
    ):
        assert list(map(str, keep.take(column))) == names
    assert keep.take(y.astype("category").array).tolist() == names


@pytest.mark.parametrize(
    "given", [None, 5, "x" * 178, {"a": [1] * 178}, set(range(178)), iter([]), np.float64(1.0)]
)
def test_what_has_no_rows_is_refused(given):
    keep = Selection(np.arange(5), 178, np.arange(178), np.ones(178), "rows", 0.0)
    with pytest.raises(InputError, match=f"table is a {type(given).__name__}: pass an array"):
        keep.take(given)


def test_selection_is_saved_and_read_back(pruner, tmp_path):
    keep = pruner.select(9)
    loaded = Selection.load(keep.save(tmp_path / "keep"))
    assert loaded.indices.tolist() == keep.indices.tolist()
    assert (loaded.weights == keep.weights).all()
    assert (loaded.gap, loaded.kappa, loaded.score, loaded.n_rows) == (keep.gap, keep.kappa, None, 178)


def test_a_notebook_shows_a_selection_without_solving_anything(pruner):
    chosen = pruner.select([12])
    shown = read(chosen[0]._repr_html_())
    cells = shown.texts("td")
    assert cells[0] == "12 of 178 rows, 6.7%"
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
