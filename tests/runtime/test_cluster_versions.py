"""Whether a cluster computes what this process would."""

import os
import time
from pathlib import Path

import pytest
from cluster_cases import PATIENCE, chunks_in, wait_until

import cdvm
from cdvm import InputError, on_cluster, record_outcomes
from cdvm._runtime.parallel import run_tasks

pytest.importorskip("distributed")


@pytest.fixture
def other(tmp_path):
    """Directories that, put on PYTHONPATH, make cdvm missing or of another version."""
    source = Path(cdvm.__file__).parent
    code = {
        "missing": "raise ModuleNotFoundError(\"No module named 'cdvm'\", name='cdvm')",
        "older": f"__path__ = [{str(source)!r}]\n"
        f"exec(open({str(source / '__init__.py')!r}).read())\n__version__ = '0.0.1'",
    }
    for name, lines in code.items():
        package = tmp_path / name / "cdvm"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(lines)
    return {name: str(tmp_path / name) for name in code}


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_workers_that_would_compute_something_else_are_named(wine, tree, design, processes, other, tmp_path):
    """At the start of a run or later, without the package or with another version of it."""
    cluster, none = processes(), tmp_path / "s"
    alone = cluster.start_worker(PYTHONPATH=other["missing"])
    with on_cluster(cluster.address) as client:
        with pytest.raises(
            InputError, match=r"worker tcp://\S+ has no cdvm: install there what is here, python"
        ):
            record_outcomes(wine, tree, design, range(100), store=none)
        alone.kill()
        wait_until(lambda: not client.ncores())
        first = cluster.start_worker()
        client.wait_for_workers(1, timeout=PATIENCE)
        results = run_tasks(time.sleep, [(0.05,)] * 3000, shared=())
        next(results)
        late = cluster.start_worker(PYTHONPATH=other["older"])
        older = r"worker tcp://\S+ has cdvm 0\.0\.1 and would give other answers: install"
        with pytest.raises(InputError, match=older):
            list(results)
        first.kill()
        wait_until(lambda: len(client.ncores()) == 1)
        assert late.poll() is None
        with pytest.raises(InputError, match=older):
            record_outcomes(wine, tree, design, range(100), store=none)
    assert chunks_in(none) == 0


@pytest.mark.filterwarnings("ignore:.*has no workers yet")
def test_a_scheduler_without_the_package_is_named(processes, other):
    cluster = processes(PYTHONPATH=other["missing"])
    with on_cluster(cluster.address), pytest.raises(InputError, match="the scheduler has no cdvm: install"):
        list(run_tasks(os.getpid, [()], shared=()))
