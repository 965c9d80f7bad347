import numpy as np
import pytest

from cdvm import Attribution, GrownAttribution, ImplicitAttribution, InputError


def naive(times, n, m):
    """T of models of several times, entry by entry: times are pairs of membership and outcomes by column."""
    T = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            top = bottom = 0.0
            for members, outcomes, rows in times:
                if j >= outcomes.shape[1]:
                    continue  # these models were not asked
                saw = members[:, i] > 0
                if saw.all() or not saw.any():
                    continue  # these do not know the row
                own = outcomes[:, j].astype(float)
                if rows is not None:
                    unbiased = members[:, rows[j]] == 0
                    own = np.where(unbiased, own, own[unbiased].mean())
                weight = saw.sum() * (~saw).sum() / len(saw)
                top += weight * (own[saw].mean() - own[~saw].mean())
                bottom += weight
            T[i, j] = top / bottom if bottom else 0.0
    return T


def some_times(rng, out_of_bag):
    n, times = 14, []
    for models, known, asked in ((60, 8, 8), (40, 11, 11), (50, 14, 14)):
        members = np.zeros((models, n), dtype=np.int32)
        members[:, :known] = rng.random((models, known)) < 0.3
        width = asked if out_of_bag else 9
        outcomes = (rng.random((models, width)) < 0.6).astype(np.uint8)
        times.append((members, outcomes, np.arange(width) if out_of_bag else None))
    return times, n, 14 if out_of_bag else 9


@pytest.fixture(params=[True, False], ids=["out of bag", "validation rows"])
def grown(request, rng):
    from scipy import sparse

    times, n, m = some_times(rng, request.param)
    parts = [ImplicitAttribution(sparse.csr_array(a), b, rows) for a, b, rows in times]
    return GrownAttribution(parts), naive(times, n, m)


def test_entries_and_products_are_those_of_a_plain_loop(grown, rng):
    T, expected = grown
    assert T.dense() == pytest.approx(expected, abs=1e-6)
    assert T.block([3, 12], slice(2, 7)) == pytest.approx(expected[[3, 12], 2:7], abs=1e-6)
    v, w = rng.standard_normal(expected.shape[1]), rng.standard_normal(expected.shape[0])
    assert T.matvec(v) == pytest.approx(expected @ v, abs=1e-5)
    assert T.rmatvec(w) == pytest.approx(w @ expected, abs=1e-5)
    assert T.max() == pytest.approx(expected.max(), abs=1e-6)
    assert T.n_models == 150
    assert T.n_unusable == 0
    assert T.binary is True
    np.testing.assert_array_equal(T.stderr([3, 12], slice(2, 7)), T.stderr()[[3, 12], 2:7])
    np.testing.assert_array_equal(T.stderr(slice(2, 9)), T.stderr()[2:9])


def test_it_comes_back_from_a_file(grown, tmp_path):
    T, expected = grown
    loaded = Attribution.load(T.save(tmp_path / "T.npz"))
    assert isinstance(loaded, GrownAttribution)
    assert loaded.dense() == pytest.approx(expected, abs=1e-6)


def test_one_time_alone_is_what_it_always_was(grown):
    part = grown[0].parts[2]
    alone = GrownAttribution([part])
    assert alone.dense() == pytest.approx(part.dense(), abs=1e-12)
    assert alone.stderr() == pytest.approx(part.stderr(), nan_ok=True)
    assert alone.values_stderr() == pytest.approx(part.values_stderr(), nan_ok=True)


def test_standard_errors_are_those_of_repeated_draws(rng):
    from scipy import sparse

    found, errors, value_errors = [], [], []
    for _ in range(200):
        times, *_ = some_times(rng, False)
        T = GrownAttribution([ImplicitAttribution(sparse.csr_array(a), b) for a, b, _ in times])
        found.append(T.dense())
        errors.append(T.stderr())
        value_errors.append(T.values_stderr())
    assert np.sqrt(np.mean(np.square(errors), axis=0)) == pytest.approx(np.std(found, axis=0), rel=0.25)
    values = np.mean(found, axis=2)
    assert np.sqrt(np.mean(np.square(value_errors), axis=0)) == pytest.approx(values.std(axis=0), rel=0.2)


def test_parts_of_another_table_are_refused(grown):
    T = grown[0]
    if len({part.shape for part in T.parts}) > 1:
        with pytest.raises(InputError, match="of a table that grew"):
            GrownAttribution(T.parts[::-1])


def test_a_row_that_no_model_tells_of_has_no_attribution():
    from scipy import sparse

    members = np.array([[1, 0, 1, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 0, 1, 1]])
    right = np.array([[1, 0], [0, 1], [1, 1], [0, 1]], dtype=np.uint8)
    T = GrownAttribution([ImplicitAttribution(sparse.csr_array(members), right[:, :m]) for m in (1, 2)])
    assert T.n_unusable == 2  # one that none saw, and one that all did
    assert (T.dense()[[1, 2]] == 0).all()
    assert (T.matvec(np.ones(2))[[1, 2]] == 0).all()
    assert (T.rmatvec(np.array([0.0, 1.0, 1.0, 0.0])) == 0).all()
    assert np.isnan(T.stderr()[[1, 2]]).all()
    assert np.isnan(T.values_stderr()[[1, 2]]).all()
    assert np.isfinite(T.values_stderr()[[0, 3]]).all()
    assert T.dense()[0].tolist() == [1.0, -0.5]


def test_standard_errors_of_values_weigh_the_times_as_their_models_tell(rng):
    from scipy import sparse

    times, n, m = some_times(rng, True)
    parts = [ImplicitAttribution(sparse.csr_array(a), b, rows) for a, b, rows in times]
    told = np.array([(a > 0).sum(axis=0) * (a == 0).sum(axis=0) / len(a) for a, *_ in times])
    new = np.diff(
        [0, *(part.shape[1] for part in parts)]
    )  # evaluation rows that each time was first asked about
    found = GrownAttribution(parts).values_stderr()
    for i in range(n):
        variance = 0.0
        for b, part in enumerate(parts):
            if told[b, i] > 0:
                own = sum(new[g] * told[b, i] / told[g:, i].sum() for g in range(b + 1)) / m
                variance += (own * part.values_stderr()[i]) ** 2
        assert found[i] == pytest.approx(np.sqrt(variance))
