import numpy as np
from selector_cases import agrees_with_a_loop, agrees_with_a_loop_in_every_class

from cdvm.selectors import k_center, stratified


def by_loops(X, size):
    chosen = [int(np.argmin(((X - X.mean(axis=0)) ** 2).sum(axis=1)))]
    while len(chosen) < size:
        nearest = [min(np.linalg.norm(x - X[c]) for c in chosen) for x in X]
        chosen.append(int(np.argmax(nearest)))
    return sorted(chosen)


def test_matches_a_plain_loop(clouds):
    agrees_with_a_loop(clouds, "k_center", by_loops)


def test_per_class_matches_a_plain_loop_in_every_class(clouds):
    agrees_with_a_loop_in_every_class(clouds, "k_center", by_loops)


def test_k_center_halves_the_radius_of_random_rows(clouds):
    def radius(rows):
        return np.linalg.norm(clouds.X[:, None] - clouds.X[rows][None], axis=2).min(axis=1).max()

    chance = np.mean([radius(stratified(clouds, 12, per_class=False, random_state=s)) for s in range(20)])
    assert radius(k_center(clouds, 12, per_class=False)) < 0.75 * chance
