import numpy as np

from cdvm.selectors import moderate


def test_moderate_rows_are_as_far_from_the_centre_as_the_median(mislabelled):
    rows = moderate(mislabelled, 40)
    for label in (0, 1):
        own = mislabelled.X[mislabelled.y == label]
        distance = np.linalg.norm(own - own.mean(axis=0), axis=1)
        kept = np.linalg.norm(mislabelled.X[rows][mislabelled.y[rows] == label] - own.mean(axis=0), axis=1)
        assert np.abs(kept - np.median(distance)).max() < 0.25 * distance.std()
