import platform

import numpy as np
import scipy
import sklearn

import cdvm
from cdvm._runtime.versions import versions


def test_versions_are_those_that_are_loaded():
    found = versions()
    loaded = {"cdvm": cdvm, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    assert {name: found[name] for name in loaded} == {n: module.__version__ for n, module in loaded.items()}
    assert found["Python"] == platform.python_version()
    assert platform.machine() in found["system"]


def test_a_library_that_is_needed_and_cannot_be_found_is_told_and_others_are_left_out(monkeypatch):
    monkeypatch.setattr("cdvm._runtime.versions._NEEDED", ("no-such-library",))
    monkeypatch.setattr("cdvm._runtime.versions._EXTRAS", ("no-other-library", "joblib"))
    found = versions()
    assert list(found) == ["cdvm", "Python", "no-such-library", "joblib", "system"]
    assert found["no-such-library"] == "unknown"
