import numpy as np
import pytest

from cdvm import CDVM, Design, ImplicitAttribution, InputError, record_outcomes
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
