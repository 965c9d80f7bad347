"""Options that do not go together are refused before any work is done."""

import pytest

from cdvm import InputError
from cdvm.cli.options import check_request, refuse_unused
from cdvm.pruner.request import Request


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"alpha": 0.3, "kappa": 0.1, "models": 50, "inclusion": 0.1, "store": "s", "memory_limit": "1GB"},
        {"refine": True, "fits": 3},
        {"within": 0.01, "refine": False, "confidence": 0.8},
        {"at_score": 0.5},
        {"curve": True},
        {"method": "banzhaf", "remove": "high", "models": 50, "cluster": "tcp://x"},
        {"method": "k_center", "per_class": False},
        {"method": "k_center", "refine": True, "cluster": "tcp://x"},  # models are trained to refine
    ],
)
def test_what_goes_together_passes(given):
    check_request(Request(**given))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "k_center", "models": 5}, "--models has no meaning for --method k_center"),
        ({"method": "banzhaf", "alpha": 0.3}, "--alpha has no meaning for --method banzhaf"),
        ({"method": "banzhaf", "per_class": False}, "--per-class has no meaning for --method banzhaf"),
        ({"method": "k_center", "cluster": "tcp://x"}, "--cluster has no meaning"),
        ({"remove": "high"}, "--remove has no meaning for --method cdvm"),
        ({"method": "banzaf"}, "did you mean 'banzhaf'"),
        ({"within": 0.1, "at_score": 0.5}, "leave one of them out"),
        ({"method": "banzhaf", "within": 0.1}, "--within has no meaning for --method banzhaf"),
        ({"method": "banzhaf", "curve": True}, "--curve has no meaning"),
        ({"curve": True, "within": 0.1}, "--curve is part of what --within and --score report"),
        ({"confidence": 0.9}, "--confidence is that of --within or --score"),
        ({"within": 0.1, "confidence": 2.0}, "confidence=2.0"),
        ({"refine": False}, "--no-refine is about --within and --score"),
        ({"fits": 3}, "--fits says how long to refine: add --refine"),
        ({"tune": True, "alpha": 0.3}, "--alpha 0.3 is fixed and --tune chooses it"),
        ({"tune": True, "kappa": 0.0}, "--kappa 0 is fixed and --tune chooses it"),
    ],
)
def test_what_does_not_is_named(given, words):
    with pytest.raises(InputError, match=words):
        check_request(Request(**given))


def test_what_was_not_given_has_no_need_of_a_meaning():
    refuse_unused("k_center", {"n_models": None, "tune": False, "per_class": True})
    refuse_unused("k_center", {"store": "s"}, of_use=["store"])
    with pytest.raises(InputError, match="--neighbors has no meaning for --method shapley"):
        refuse_unused("shapley", {"k": 0})
