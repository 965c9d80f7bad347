from __future__ import annotations

import pytest

from cdvm.errors import InputError
from cdvm.learners import make_learner
from cdvm.learners.batched import compiling

pytest.importorskip("numba", reason="Numba is not installed: pip install cdvm[trees]")


def test_without_numba_the_cure_is_named(monkeypatch):
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"ForestLearner needs Numba.*pip install cdvm\[trees\]"):
        make_learner("forest")


def test_kernels_compile_where_no_cache_can_be_written():
    space: dict = {}
    exec("def twice(x):\n    return 2 * x", space)  # no file, so nothing to keep the compiled code beside
    assert compiling.entry(space["twice"])(21) == 42
