import numpy as np
import pytest

from cdvm import CDVM, Design, GrownAttribution, ImplicitAttribution, InputError, Outcomes, record_outcomes
from cdvm.attribution.bits import Bits
from cdvm.attribution.build import build_attribution
from cdvm.attribution.mixture import mix_attributions
from cdvm.attribution.similarity import similarity_attribution
from cdvm.learners import RidgeLearner


def test_each_source_gives_its_attribution(wine):
    outcomes = record_outcomes(wine, RidgeLearner(), Design(wine.n_rows, 0.2), range(60), n_jobs=1)
    models, similar = ImplicitAttribution.from_outcomes(outcomes), similarity_attribution(wine, n_jobs=1)
    for source, expected in {
        "models": models,
        "similarity": similar,
        "mixture": mix_attributions(models, similar),
    }.items():
        recorded = [] if source == "similarity" else [outcomes]
        found = build_attribution(source, wine, recorded, n_jobs=1, progress=False)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found.dense(), expected.dense())


def drawn(design, models, asked, rng):
    """Outcomes of some models of a design, at random."""
    right = rng.integers(0, 2, (len(models), asked)).astype(np.uint8)
    return Outcomes(
        design, np.array(models), np.packbits(right, axis=1), asked, np.empty(0, dtype=np.int64), {}
    )


@pytest.mark.parametrize("compact", [False, True])
def test_models_of_one_time_are_taken_together_and_those_of_several_weighed(wine, rng, compact):
    old, new = Design(20, 0.3, seed=1).grown(4), Design(24, 0.3, seed=2)
    first, second = drawn(old, range(40), 7, rng), drawn(old, range(40, 65), 7, rng)
    later = drawn(new, range(30), 9, rng)
    right = np.concatenate([first.values(), second.values()])
    members = old.take(range(65)).members

    together = build_attribution("models", wine, [first, second], compact=compact, progress=False)
    assert isinstance(together, ImplicitAttribution)
    assert together.n_models == 65
    assert isinstance(together.outcomes, Bits) == compact
    assert not isinstance(build_attribution("models", wine, [first], progress=False).outcomes, Bits)
    alone = ImplicitAttribution(members, right)
    np.testing.assert_allclose(together.dense(), alone.dense(), atol=1e-6)

    for evidence in ([first, second, later], [later, first, second]):
        grown = build_attribution("models", wine, evidence, compact=compact, progress=False)
        assert isinstance(grown, GrownAttribution)
        assert [part.n_models for part in grown.parts] == [65, 30]
        expected = GrownAttribution([alone, ImplicitAttribution.from_outcomes(later)])
        np.testing.assert_allclose(grown.dense(), expected.dense(), atol=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        Design(24, 0.4),
        Design(24, 0.3, "fixed"),
        Design(24, 0.3, recent=4, recent_inclusion=0.5),
        Design(24, 0.3, recent=4, recent_inclusion=0.4),
        Design(20, 0.3).grown(4),
    ],
)
def test_models_that_drew_in_another_way_are_of_another_time(wine, rng, other):
    plain = drawn(Design(24, 0.3), range(30), 9, rng)
    found = build_attribution("models", wine, [plain, drawn(other, range(30), 9, rng)], progress=False)
    assert isinstance(found, GrownAttribution)
    wider = build_attribution(
        "models", wine, [plain, drawn(plain.design, range(30), 11, rng)], progress=False
    )
    assert [part.shape[1] for part in wider.parts] == [9, 11]


@pytest.mark.parametrize("attribution", ["similarity", "mixture"])
def test_the_pruner_takes_either(digits, attribution):
    def chosen(n_jobs):
        models = {} if attribution == "similarity" else {"n_models": 60}
        pruner = CDVM("ridge", **models, attribution=attribution, n_jobs=n_jobs, random_state=0)
        return pruner.fit_split(digits).select(30)

    one = chosen(1)
    assert len(one) == 30
    assert len(np.unique(digits.y[one.rows])) == 10  # every class is covered
    assert (one.indices == chosen(2).indices).all()
    with pytest.raises(InputError, match="attribution='magic'"):
        CDVM(attribution="magic").fit_split(digits)
