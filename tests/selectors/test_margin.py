import numpy as np
from selector_cases import takes_what_models_said_earlier

from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.sampling import seed_of
from cdvm.selectors import margin


def test_margin_keeps_the_rows_nearest_to_the_boundary(overlapping):
    doubt = np.abs(ease_of_rows(overlapping, "logistic", seed=seed_of(0), n_jobs=1))
    rows = margin(overlapping, 30, random_state=0)
    assert doubt[rows].max() <= np.delete(doubt, rows).min()


def test_what_models_said_earlier_gives_the_same_rows(overlapping):
    takes_what_models_said_earlier(overlapping, margin, "ease", ease_of_rows)
