import numpy as np
import pytest
from scipy import sparse

from cdvm import (
    Attribution,
    Design,
    ImplicitAttribution,
    InputError,
    MatrixAttribution,
    mix_attributions,
)


def noisy_models(truth, n_models, rng):
    """Outcomes whose chance is a half plus the truth of the rows seen."""
    n, m = truth.shape
    members = Design(n, 0.2, seed=0).take(range(n_models)).members
    seen = members.toarray() - 0.2
    right = rng.random((n_models, m)) < 0.5 + seen @ truth
    return ImplicitAttribution(members, right.astype(np.uint8))


def test_the_mixture_is_nearer_to_the_truth_than_its_parts(rng):
    truth = rng.normal(0, 0.02, (40, 30))
    prior = 5 * (truth + rng.normal(0, 0.02, truth.shape))  # of another scale, and half wrong
    models = noisy_models(truth, 8000, rng)  # about as much noise as in the prior
    mixed = mix_attributions(models, MatrixAttribution(prior))

    def error(T):
        return ((T - truth) ** 2).mean()

    best_prior = (prior * truth).sum() / (prior**2).sum() * prior
    assert error(mixed.dense()) < 0.8 * min(error(models.dense()), error(best_prior))
    # the best weights of all, which need the truth
    parts = np.stack([models.dense().ravel(), prior.ravel()], axis=1)
    ideal = np.linalg.lstsq(parts, truth.ravel(), rcond=None)[0]
    np.testing.assert_allclose(mixed.weights, ideal, rtol=0.35)


def test_many_models_outweigh_a_prior_that_is_wrong(rng):
    truth = rng.normal(0, 0.02, (20, 30))
    few, many = (
        mix_attributions(noisy_models(truth, k, rng), MatrixAttribution(rng.normal(size=truth.shape)))
        for k in (100, 20_000)
    )
    assert few.weights[0] < 0.5
    assert many.weights[0] > 0.8
    assert abs(many.weights[1]) < 0.005


@pytest.mark.parametrize("rows", [7, 20])
def test_the_weights_of_a_mixture_are_those_of_least_squares(rng, rows, monkeypatch):
    monkeypatch.setattr("cdvm.attribution.mixture._SAMPLED", 9 * rows)
    models = noisy_models(rng.normal(0, 0.1, (20, 9)), 100, rng)
    priors = [rng.normal(size=(20, 9)), rng.normal(size=(20, 9))]
    mixed = mix_attributions(models, *map(MatrixAttribution, priors))
    at = np.unique(np.linspace(0, 19, rows).astype(int))
    parts = np.stack([part[at].ravel() for part in (models.dense(), *priors)])
    # the truth has with the models' T its square less the noise, with the others what the models have
    target = parts @ parts[0] - [np.nansum(models.stderr(at) ** 2), 0, 0]
    assert target[0] > 0
    np.testing.assert_allclose(mixed.weights, np.linalg.solve(parts @ parts.T, target), rtol=1e-6)
    with pytest.raises(InputError, match="give at least two"):
        mix_attributions(models)


def test_a_mixture_of_noise_and_nothing_is_nothing(rng):
    members = Design(20, 0.3).take(range(30)).members
    models = ImplicitAttribution(members, rng.normal(size=(30, 9)))
    noise = np.nansum(models.stderr() ** 2)
    nothing = MatrixAttribution(np.zeros((20, 9)))
    expected = max(0.0, 1 - noise / (models.dense() ** 2).sum())
    assert mix_attributions(models, nothing).weights == pytest.approx((expected, 0.0), abs=1e-6)


def test_a_mixture_answers_like_the_matrix_it_stands_for(rng, tmp_path):
    models = noisy_models(rng.normal(0, 0.02, (20, 9)), 100, rng)
    prior = MatrixAttribution(sparse.random_array((20, 9), density=0.3, rng=rng))
    mixed = mix_attributions(models, prior)
    T = mixed.weights[0] * models.dense() + mixed.weights[1] * prior.dense()
    lam, w = rng.normal(size=9), rng.normal(size=20)
    np.testing.assert_allclose(mixed.dense(), T, atol=1e-9)
    np.testing.assert_allclose(mixed.block([3, 7], slice(2, 5)), T[[3, 7], 2:5], atol=1e-9)
    np.testing.assert_allclose(mixed.matvec(lam), T @ lam, atol=1e-6)
    np.testing.assert_allclose(mixed.rmatvec(w), w @ T, atol=1e-6)
    np.testing.assert_allclose(mixed.row_sums(), T.sum(axis=1), atol=1e-6)
    assert mixed.max() == pytest.approx(T.max(), abs=1e-6)
    assert mixed.sparsify(0.1).matrix.nnz == 18
    assert mixed.n_unusable == 0
    loaded = Attribution.load(mixed.save(tmp_path / "mixed"))
    np.testing.assert_array_equal(loaded.dense(), mixed.dense())
    with pytest.raises(InputError, match="one shape"):
        mix_attributions(models, MatrixAttribution(np.ones((3, 3))))
