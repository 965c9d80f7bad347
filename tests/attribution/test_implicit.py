import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cdvm.attribution.implicit as module
from cdvm import Attribution, Design, ImplicitAttribution, MatrixAttribution, Outcomes, StoreError
from cdvm.attribution.bits import Bits


def random_attribution(rng, n=30, m=12, models=60, inclusion=0.3, binary=True):
    members = Design(n, inclusion, seed=int(rng.integers(1000))).take(range(models)).members
    outcomes = rng.integers(0, 2, (models, m)).astype(np.uint8)
    if not binary:
        outcomes = rng.normal(size=(models, m)).astype(np.float32)
    return members, outcomes, ImplicitAttribution(members, outcomes)


def naive(members, outcomes):
    seen = members.toarray() > 0
    T = np.zeros((members.shape[1], outcomes.shape[1]))
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            inside = [float(outcomes[t, j]) for t in range(len(outcomes)) if seen[t, i]]
            outside = [float(outcomes[t, j]) for t in range(len(outcomes)) if not seen[t, i]]
            if inside and outside:
                T[i, j] = np.mean(inside) - np.mean(outside)
    return T


@pytest.mark.parametrize("binary", [True, False])
def test_attribution_is_the_difference_of_two_means(rng, binary):
    members, outcomes, implicit = random_attribution(rng, binary=binary)
    assert np.allclose(implicit.dense(), naive(members, outcomes), atol=1e-6)


@given(
    n=st.integers(1, 20),
    m=st.integers(1, 9),
    models=st.integers(2, 40),
    inclusion=st.floats(0.02, 0.98),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_products_and_blocks_agree_with_the_dense_matrix(n, m, models, inclusion, seed):
    rng = np.random.default_rng(seed)
    members, outcomes, implicit = random_attribution(rng, n, m, models, inclusion)
    T = naive(members, outcomes)
    lam, w = rng.normal(size=m), rng.normal(size=n)
    assert np.allclose(implicit.matvec(lam), T @ lam, atol=1e-5)
    assert np.allclose(implicit.rmatvec(w), w @ T, atol=1e-5)
    assert np.allclose(implicit.row_sums(), T.sum(axis=1), atol=1e-6)
    assert np.allclose(implicit.values(), T.mean(axis=1), atol=1e-6)
    assert implicit.max() == pytest.approx(T.max(), abs=1e-6)
    rows, columns = rng.integers(0, n, 3), rng.integers(0, m, 2)
    assert np.allclose(implicit.block(rows, columns), T[np.ix_(rows, columns)], atol=1e-6)
    assert np.allclose(implicit.operator() @ lam, T @ lam, atol=1e-5)
    assert np.allclose(implicit.operator().T @ w, w @ T, atol=1e-5)


def test_rows_never_or_always_seen_have_attribution_zero_and_are_counted():
    members = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1]]))
    implicit = ImplicitAttribution(members, np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8))
    assert implicit.n_unusable == 2
    assert (implicit.dense()[1:] == 0).all()
    assert implicit.dense()[0].tolist() == [1.0, -0.5]


def test_rows_seen_by_all_models_but_one_or_by_one_alone_have_attributions():
    members = sparse.csr_array(np.array([[1, 1], [0, 1], [0, 1], [0, 0]]))
    implicit = ImplicitAttribution(members, np.array([[1.0], [4.0], [7.0], [2.0]]))
    assert implicit.n_unusable == 0
    np.testing.assert_allclose(implicit.dense(), [[1 - 13 / 3], [4 - 2]], rtol=1e-6)


@pytest.mark.parametrize("most", [50 * 13, 50 * 13 - 1])
def test_many_outcomes_are_kept_as_bits(rng, most, monkeypatch):
    monkeypatch.setattr(module, "FLOAT_OUTCOMES", most)
    right = rng.integers(0, 2, (50, 13)).astype(np.uint8)
    none = np.empty(0, dtype=np.int64)
    outcomes = Outcomes(Design(30, 0.3), np.arange(50), np.packbits(right, axis=1), 13, none, {})
    made = ImplicitAttribution.from_outcomes(outcomes)
    assert isinstance(made.outcomes, Bits) == (most < 50 * 13)
    assert np.allclose(made.dense(), naive(outcomes.design.take(range(50)).members, right), atol=1e-6)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("at_once", [1, 30, 1 << 22])
def test_outcomes_out_of_bag_are_evaluated_without_the_models_that_saw_the_row(
    rng, compact, at_once, monkeypatch
):
    monkeypatch.setattr(module, "_POSITIONS", at_once)
    right = rng.integers(0, 2, (60, 4)).astype(np.uint8)
    design, rows = Design(30, 0.3, seed=2), np.array([3, 4, 11, 29])
    manifest = {"evaluation_rows": rows.tolist()}
    none = np.empty(0, dtype=np.int64)
    outcomes = Outcomes(design, np.arange(60), np.packbits(right, axis=1), 4, none, manifest)
    members = design.take(range(60)).members
    seen = members.toarray()[:, rows] > 0
    mean = np.array([right[~seen[:, j], j].mean() for j in range(4)])
    made = ImplicitAttribution.from_outcomes(outcomes, compact=compact)
    assert np.allclose(made.dense(), naive(members, np.where(seen, mean, right)), atol=1e-6)


def test_standard_error_of_a_value_is_that_of_a_difference_of_two_means(rng):
    members, outcomes, implicit = random_attribution(rng, models=25, inclusion=0.4)
    seen, means = members.toarray() > 0, outcomes.mean(axis=1)
    for row, error in enumerate(implicit.values_stderr()):
        parts = means[seen[:, row]], means[~seen[:, row]]
        assert error == pytest.approx(np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts)))


@pytest.mark.parametrize("kind", ["bernoulli", "fixed", "bootstrap"])
def test_compact_attribution_of_outcomes_is_the_same(rng, kind, monkeypatch):
    monkeypatch.setattr(module, "_DRAWN", 200)  # membership drawn seven models at a time
    design = Design(30, 0.3, kind, seed=5)
    right = rng.integers(0, 2, (50, 13)).astype(np.uint8)
    models = np.r_[0:20, 70:100]
    outcomes = Outcomes(design, models, np.packbits(right, axis=1), 13, 0, {})
    T = naive(design.take(models).members, right)
    lam, w = rng.normal(size=13), rng.normal(size=30)
    for compact in (False, True):
        implicit = ImplicitAttribution.from_outcomes(outcomes, compact=compact)
        assert implicit._seen_by.indices.dtype == (np.uint16 if compact else np.int32)
        assert isinstance(implicit.outcomes, Bits) == compact
        assert np.allclose(implicit.dense(), T, atol=1e-6)
        assert np.allclose(implicit.matvec(lam), T @ lam, atol=1e-5)
        assert np.allclose(implicit.rmatvec(w), w @ T, atol=1e-5)
        assert np.allclose(implicit.values(), T.mean(axis=1), atol=1e-6)
        assert implicit.max() == pytest.approx(T.max(), abs=1e-6)
        assert (implicit.members.toarray() == (design.take(models).members.toarray() > 0)).all()
    assert np.allclose(implicit.stderr([3, 4], [0, 9]), ImplicitAttribution(
        design.take(models).members, right).stderr([3, 4], [0, 9]))  # fmt: skip


def test_repeated_rows_of_a_bootstrap_count_once(rng):
    members = Design(20, 1.0, "bootstrap", seed=0).take(range(50)).members
    outcomes = rng.integers(0, 2, (50, 6)).astype(np.uint8)
    assert np.allclose(ImplicitAttribution(members, outcomes).dense(), naive(members, outcomes))


def test_standard_errors_match_the_spread_over_repeated_designs():
    estimates, errors, value_errors, values = [], [], [], []
    chance = np.random.default_rng(0).uniform(0.2, 0.8, 5)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        members = Design(6, 0.3, seed=seed).take(range(120)).members
        outcomes = (rng.uniform(size=(120, 5)) < chance).astype(np.uint8)
        implicit = ImplicitAttribution(members, outcomes)
        estimates.append(implicit.dense())
        errors.append(implicit.stderr())
        values.append(implicit.values())
        value_errors.append(implicit.values_stderr())
    assert np.mean(errors) == pytest.approx(np.std(estimates, axis=0).mean(), rel=0.05)
    assert np.mean(value_errors) == pytest.approx(np.std(values, axis=0).mean(), rel=0.05)


@pytest.mark.parametrize("binary", [True, False])
def test_standard_error_is_that_of_a_difference_of_two_means(rng, binary):
    members, outcomes, implicit = random_attribution(rng, models=14, inclusion=0.7, binary=binary)
    seen, error = members.toarray() > 0, implicit.stderr()
    for row, column in np.argwhere(np.isfinite(error)):
        parts = outcomes[seen[:, row], column], outcomes[~seen[:, row], column]
        variances = [part.astype(float).var() / (len(part) - 1) for part in parts]
        assert error[row, column] == pytest.approx(np.sqrt(sum(variances)), rel=1e-4, abs=1e-6)


def test_standard_error_is_unknown_where_fewer_than_two_models_saw_a_row():
    members = sparse.csr_array(np.array([[1, 1], [0, 1], [0, 0], [0, 0]]))
    error = ImplicitAttribution(members, np.eye(4, 2, dtype=np.uint8)).stderr()
    assert np.isnan(error[0]).all()
    assert np.isfinite(error[1]).all()


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("evaluation_rows", [np.arange(30), np.array([3, 4, 11, 29])], ids=["all", "some"])
def test_training_rows_are_evaluated_by_the_models_that_did_not_see_them(
    rng, binary, evaluation_rows, tmp_path
):
    m = len(evaluation_rows)
    members, outcomes, _ = random_attribution(rng, m=m, binary=binary)
    seen = members.toarray()[:, evaluation_rows] > 0
    mean = np.array([outcomes[~seen[:, j], j].mean() for j in range(m)])
    T = naive(members, np.where(seen, mean, outcomes))
    made = ImplicitAttribution(members, outcomes, evaluation_rows)
    assert np.allclose(made.dense(), T, atol=1e-6)
    assert (made.dense()[evaluation_rows, np.arange(m)] == 0).all()
    lam, w = rng.normal(size=m), rng.normal(size=30)
    assert np.allclose(made.matvec(lam), T @ lam, atol=1e-5)
    assert np.allclose(made.rmatvec(w), w @ T, atol=1e-5)
    plain = ImplicitAttribution(members, np.where(seen, mean, outcomes).astype(np.float32))
    assert np.allclose(made.stderr(), plain.stderr(), atol=1e-5)
    assert made.max() == pytest.approx(T.max(), abs=1e-6)
    thin = made.sparsify(0.2).dense()
    assert np.allclose(thin[thin != 0], T[thin != 0], atol=1e-6)
    # what models say of rows they saw is of no consequence
    other = np.where(seen, 1 - outcomes, outcomes).astype(outcomes.dtype)
    assert (ImplicitAttribution(members, other, evaluation_rows).dense() == made.dense()).all()
    loaded = Attribution.load(made.save(tmp_path / "attribution"))
    assert (loaded.dense() == made.dense()).all()


def test_an_evaluation_row_that_every_model_saw_gets_nothing(rng):
    members = sparse.csr_array(np.array([[1, 0], [1, 1], [1, 0]]))
    made = ImplicitAttribution(members, rng.integers(0, 2, (3, 2)).astype(np.uint8), np.arange(2))
    assert (made.dense()[:, 0] == 0).all()


def test_an_evaluation_row_that_no_model_saw_is_told_of_by_all_of_them():
    members = sparse.csr_array(np.array([[1, 0], [0, 0], [1, 0], [0, 0]]))
    outcomes = np.array([[1, 1], [0, 0], [1, 0], [1, 0]], dtype=np.uint8)
    made = ImplicitAttribution(members, outcomes, np.arange(2))
    np.testing.assert_allclose(made.dense(), [[0.0, 0.5 - 0.0], [0.0, 0.0]], atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "bits", "packed", "scores"])
def test_save_and_load(rng, kind, tmp_path):
    T = rng.normal(size=(9, 4))
    members, outcomes, _ = random_attribution(rng)
    packed = ImplicitAttribution(members, Bits(np.packbits(outcomes, axis=1), outcomes.shape[1]))
    made = {
        "dense": lambda: MatrixAttribution(T),
        "sparse": lambda: MatrixAttribution(sparse.random_array((9, 4), density=0.4, rng=rng)),
        "bits": lambda: random_attribution(rng)[2],
        "packed": lambda: packed,
        "scores": lambda: random_attribution(rng, binary=False)[2],
    }[kind]()
    path = made.save(tmp_path / "attribution")
    loaded = Attribution.load(path)
    assert type(loaded) is type(made)
    assert (loaded.dense() == made.dense()).all()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreError, match="not a whole attribution file"):
        Attribution.load(path)


def test_packed_outcomes_are_unpacked_where_evaluation_rows_are_training_rows(rng):
    members, outcomes, _ = random_attribution(rng)
    own = np.arange(outcomes.shape[1])
    packed = ImplicitAttribution(members, Bits(np.packbits(outcomes, axis=1), outcomes.shape[1]), own)
    plain = ImplicitAttribution(members, outcomes, own)
    assert packed.binary
    assert plain.binary
    np.testing.assert_array_equal(packed.dense(), plain.dense())


def test_standard_errors_of_some_columns_are_those_of_all(rng):
    _, _, implicit = random_attribution(rng)
    np.testing.assert_array_equal(implicit.stderr([3, 5], slice(2, 6)), implicit.stderr()[[3, 5], 2:6])
