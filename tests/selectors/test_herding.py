import numpy as np
from selector_cases import agrees_with_a_loop, agrees_with_a_loop_in_every_class

from cdvm.selectors import herding, stratified


def by_loops(X, size):
    chosen, mean = [], X.mean(axis=0)
    while len(chosen) < size:
        rest = [i for i in range(len(X)) if i not in chosen]
        chosen.append(min(rest, key=lambda i: np.linalg.norm(X[[*chosen, i]].mean(axis=0) - mean)))
    return sorted(chosen)


def test_matches_a_plain_loop(clouds):
    agrees_with_a_loop(clouds, "herding", by_loops)


def test_per_class_matches_a_plain_loop_in_every_class(clouds):
    agrees_with_a_loop_in_every_class(clouds, "herding", by_loops)


def test_herding_keeps_the_mean(clouds):
    def miss(rows):
        return np.linalg.norm(clouds.X[rows].mean(axis=0) - clouds.X.mean(axis=0))

    chance = np.mean([miss(stratified(clouds, 12, per_class=False, random_state=s)) for s in range(20)])
    assert miss(herding(clouds, 12, per_class=False)) < 0.2 * chance
