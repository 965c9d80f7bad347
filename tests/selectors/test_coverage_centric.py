import numpy as np
from selector_cases import takes_what_models_said_earlier

from cdvm.evaluation.difficulty import ease_of_rows
from cdvm.selectors import coverage_centric


def test_coverage_drops_the_hardest_and_takes_of_all_others(mislabelled):
    wrong = np.zeros(400, dtype=bool)
    wrong[::20] = True
    rows = coverage_centric(mislabelled, 60, random_state=0)
    assert wrong[rows].sum() == 0
    ease = ease_of_rows(mislabelled, "logistic", n_jobs=1)
    edges = np.linspace(0, ease.max(), 6)
    kept, all_rows = (np.histogram(e, edges)[0] / len(e) for e in (ease[rows], ease[ease > 0]))
    assert kept.min() > 0.08
    assert kept.max() < all_rows.max()


def test_what_models_said_earlier_gives_the_same_rows(overlapping):
    takes_what_models_said_earlier(overlapping, coverage_centric, "ease", ease_of_rows)
