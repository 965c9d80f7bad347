import pytest

from cdvm import CDVM, InputError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_models": 1}, "n_models=1"),
        ({"n_models": 10.5}, "n_models=10.5"),
        ({"alpha": 2}, "alpha=2"),
        ({"kappa": -1}, "kappa=-1"),
        ({"kappa": "many"}, "kappa='many'"),
        ({"tune": "random"}, "tune='random'"),
        ({"rounding": "up"}, "rounding='up'"),
        ({"inclusion": 0}, "inclusion=0"),
        ({"inclusion": "some"}, "inclusion='some'"),
        ({"design": "half"}, "design='half'"),
        ({"learner": "logistik"}, "did you mean 'logistic'"),
        ({"learner": object()}, "has no fit"),
        ({"validation_size": 1.5, "validation": "holdout"}, "validation_size=1.5: use a fraction"),
        ({"validation_size": 2}, "validation_size=2: use a fraction"),
        ({"validation_size": 0.3}, "validation_size=0.3 has no effect with validation='out_of_bag'"),
        ({"validation": "oob"}, "validation='oob': use 'auto', 'out_of_bag' or 'holdout'"),
        ({"outcome": "loss"}, "outcome='loss'"),
        ({"outcome": 3}, "outcome=3"),
        ({"budget": [5, 10]}, r"budget=\[5, 10\]: use"),
        ({"budget": True}, "budget=True"),
        ({"alpha": True}, "alpha=True"),
        ({"solver": "simplex"}, "solver='simplex': use 'auto', "),
        ({"scale": "yes"}, "scale='yes': use 'auto', True or False"),
        ({"scale": 1}, "scale=1: use"),
        ({"n_jobs": "a"}, "n_jobs='a': use a number of workers such as 2, or -1 for every core"),
        ({"n_jobs": 0}, "n_jobs=0: use"),
        ({"n_jobs": 1.5}, "n_jobs=1.5: use"),
        ({"progress": "x"}, "progress='x': use None, True or False"),
        ({"random_state": "a"}, "random_state='a': use"),
        ({"random_state": -1}, "random_state=-1: use"),
        ({"store": 5}, "store=5: use"),
        ({"refine": "yes"}, "refine='yes': use"),
        ({"tune": "grid", "alpha": 0.3}, "alpha=0.3 has no effect with tune='grid'"),
        ({"tune": "grid", "kappa": 1.0}, "kappa=1.0 has no effect with tune='grid'"),
        ({"attribution": "similarity"}, "n_models=10 has no effect with attribution='similarity'"),
        ({"attribution": "similarity", "n_models": 5000, "store": "runs"}, "store='runs' has no effect"),
    ],
)
def test_parameters_are_checked_before_any_model_is_trained(table, settings, message):
    with pytest.raises(InputError, match=message):
        CDVM(**{"n_models": 10, "n_jobs": 1, **settings}).fit(*table)
