from itertools import pairwise

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.utils import check_random_state

from cdvm import Split
from cdvm.sampling import seed_of
from cdvm.selectors import forgetting
from cdvm.selectors.forgetting import count_forgotten


def test_forgetting_counts_right_then_wrong():
    right = np.random.default_rng(0).random((12, 50)) < 0.5
    right[:, 7] = False
    times = [sum(a and not b for a, b in pairwise(r)) for r in right.T]
    times[7] = 12
    assert count_forgotten(right).tolist() == times


def test_forgetting_keeps_what_the_network_forgets_most(overlapping):
    rng = check_random_state(3)
    network = MLPClassifier(random_state=seed_of(rng))
    right = []
    for _ in range(10):
        network.partial_fit(overlapping.X, overlapping.y, classes=[0, 1, 2])
        right.append(network.predict(overlapping.X) == overlapping.y)
    times = count_forgotten(np.array(right))
    never = int((times == 10).sum())
    rows = forgetting(overlapping, never + 5, passes=10, random_state=3)
    assert sorted(times[rows])[:6] == [1] * 5 + [10]
    assert 0 < never < never + 5 < (times > 0).sum()


def test_equally_forgotten_rows_are_drawn():
    X = np.repeat([[-5.0], [5.0]], 40, axis=0)
    split = Split.from_arrays(X, np.repeat([0, 1], 40), validation="out_of_bag")
    kept = {tuple(forgetting(split, 8, passes=3, random_state=k)) for k in range(3)}
    assert len(kept) == 3
