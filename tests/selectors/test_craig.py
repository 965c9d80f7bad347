import numpy as np
import pytest
from selector_cases import overlapping_classes, sparse_of, takes_what_models_said_earlier

from cdvm.evaluation.difficulty import residuals_of_rows
from cdvm.sampling import seed_of
from cdvm.selectors import craig


@pytest.mark.parametrize("classes", [2, 3])
def test_craig_is_facility_location_among_gradients(classes):
    split = overlapping_classes(60, classes)
    residuals = residuals_of_rows(split, "logistic", seed=seed_of(0), n_jobs=1)
    gradients = np.array([np.outer(r, [*x, 1]).ravel() for r, x in zip(residuals, split.X, strict=True)])
    distance = np.linalg.norm(gradients[:, None] - gradients[None], axis=2)
    chosen: list[int] = []
    while len(chosen) < 9:
        rest = [i for i in range(60) if i not in chosen]
        chosen.append(min(rest, key=lambda i: round(distance[:, [*chosen, i]].min(axis=1).sum(), 9)))
    assert craig(split, 9, per_class=False, random_state=0).tolist() == sorted(chosen)


def test_what_models_said_earlier_gives_the_same_rows(overlapping):
    takes_what_models_said_earlier(overlapping, craig, "residuals", residuals_of_rows)


def test_sparse_features_keep_the_same_rows(overlapping):
    said = residuals_of_rows(overlapping, "logistic", n_jobs=1)
    thin = craig(sparse_of(overlapping), 20, residuals=said)
    assert thin.tolist() == craig(overlapping, 20, residuals=said).tolist()
