import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from cdvm import CDVM, Design, InputError, RidgeLearner, Split
from cdvm._runtime.memory import resident
from cdvm.pruner.memory_plan import plan_memory

RUN = textwrap.dedent(
    """
    import json, sys
    from pathlib import Path
    import numpy as np
    from cdvm import CDVM

    rng = np.random.default_rng(0)
    limit, rows, models, inclusion, n_evaluation = json.loads(sys.argv[1])
    X = rng.normal(size=(rows, 10))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    settings = dict(effort="low", n_models=models, inclusion=inclusion, memory_limit=limit, random_state=0)
    pruner = CDVM("ridge", n_jobs=2, solver="first_order", **settings)
    kept = pruner.fit(X, y, X[:n_evaluation] + 0.1, y[:n_evaluation]).select(0.05)
    # ru_maxrss would start from the process that started this one
    status = Path("/proc/self/status").read_text()
    peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
    print(json.dumps([len(kept), peak]))
    """
)


def million(n=1_000_000, m=2000, features=20):
    """A split of that shape that takes no memory to speak of."""
    X = np.broadcast_to(np.zeros(features), (n, features))
    y = np.broadcast_to(np.int64(0), n)
    return Split(X, y, X[:m], y[:m], np.array([0, 1]), np.broadcast_to(np.int64(0), n), n)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    ("limit", "rows", "models", "inclusion", "evaluation"),
    [
        (800_000_000, 100_000, 60, 0.03, 500),
        (780_000_000, 20_000, 2000, 0.5, 300),  # many rows a model
    ],
)
def test_runs_stay_within_the_limit(limit, rows, models, inclusion, evaluation):
    settings = json.dumps([limit, rows, models, inclusion, evaluation])
    done = subprocess.run([sys.executable, "-c", RUN, settings], capture_output=True, text=True, check=True)
    kept, peak = json.loads(done.stdout)
    assert kept == rows // 20
    assert peak < limit


def test_the_limit_does_not_change_the_answer():
    X, y = load_digits(return_X_y=True)
    split = Split.from_arrays(X[:500] / 16, y[:500], random_state=0)

    def chosen(limit):
        pruner = CDVM(
            "ridge", effort="low", n_models=200, solver="first_order", memory_limit=limit, random_state=0
        )
        return pruner.fit_split(split), pruner.select(40)

    free, wanted = chosen(None)
    for limit in (resident() + 700_000_000, "64GB"):
        bound, found = chosen(limit)
        assert (bound.outcomes_.data == free.outcomes_.data).all()
        assert found.objective == pytest.approx(wanted.objective, rel=0.02)  # both within a proven 1 %


def test_the_plan_gets_smaller_with_the_limit():
    split, design = million(), Design(1_000_000, 0.03)
    held = resident()
    plans = [plan_memory(held + room, split, design, 8000, 2) for room in (16e9, 3e9, 2e9)]
    assert [p.compact for p in plans] == [False, False, True]
    assert [p.n_jobs for p in plans] == [2, 2, 2]
    assert [p.dense for p in plans] == [False, False, False]
    assert plans[0].models_at_once >= plans[1].models_at_once >= plans[2].models_at_once >= 1
    assert plan_memory(held + 1.2e9, split, design, 2000, 2).n_jobs == 1
    small = plan_memory(held + 3e9, million(1000, 500), Design(1000, 0.03), 5000, 2)
    assert small.dense
    assert not small.compact
    assert plan_memory(None, split, design, 2000, -1).models_at_once is None


def test_too_little_memory_is_refused_with_what_it_takes():
    split, design = million(), Design(1_000_000, 0.03)
    with pytest.raises(
        InputError, match=r"memory_limit='500MB': 1,000,000 rows, 2,000 evaluation rows.* need about"
    ) as e:
        plan_memory("500MB", split, design, 2000, 2)
    said = float(str(e.value).split("need about ")[1].split(" GB")[0]) * 1e9
    plan_memory(1.1 * said, split, design, 2000, 2)  # what it says is enough
    with pytest.raises(InputError, match="memory_limit='lots'"):
        CDVM(memory_limit="lots").fit([[0.0], [1.0]] * 10, [0, 1] * 10)


def test_a_bounded_learner_is_the_same_learner(digits):
    plan = plan_memory("64GB", digits, Design(digits.n_rows, 0.1), 100, 1)
    bounded = plan.bounded(RidgeLearner())
    assert bounded.spec() == RidgeLearner().spec()
    assert bounded.bind(digits, digits.X_val).chunk == plan.models_at_once
