import numpy as np
from selector_cases import takes_what_models_said_earlier

from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.selectors import hardest_right


def test_half_are_the_hardest_that_are_right(mislabelled):
    rows = hardest_right(mislabelled, 100, random_state=3)
    near = np.abs(mislabelled.X[:, 0]) < 0.7
    assert near[rows].mean() > 1.5 * near.mean()
    wrong = np.zeros(400, dtype=bool)
    wrong[::20] = True
    assert wrong[rows].sum() <= 10


def test_what_models_said_earlier_gives_the_same_rows(overlapping):
    takes_what_models_said_earlier(overlapping, hardest_right, "ease", ease_of_rows)
