import subprocess
import sys

import numpy as np


def test_help_shows_an_example_and_version_is_printed(command):
    assert "cdvm prune train.csv --target label" in " ".join(command("prune", "--help")[1].split())
    from cdvm import __version__

    first, libraries = command("--version")[1].splitlines()
    assert first == f"cdvm {__version__}"
    assert f"numpy {np.__version__}" in libraries


def test_verbose_tells_how_far_the_work_is_without_a_terminal(tmp_path):
    words = [
        sys.executable,
        "-c",
        "import cdvm._runtime.progress as p; p._PATIENCE = 0.0; p._LogLine.pause = 0.01\n"
        "from cdvm.cli import main; main()",
    ]
    more = ["prune", "--dataset", "wine", "--keep", "10%", "--models", "300", "--effort", "low"]
    told = [
        subprocess.run([*words, *first, *more], capture_output=True, text=True, cwd=tmp_path, check=True)
        for first in ([], ["--verbose"])
    ]
    assert told[0].stderr == ""
    assert "models: " in told[1].stderr
    assert "\x1b" not in told[1].stderr
    assert told[0].stdout.splitlines()[:5] == told[1].stdout.splitlines()[:5]


def test_help_and_import_load_nothing_heavy():
    script = "import sys, cdvm, cdvm.cli.main; print(*(m for m in {names} if m in sys.modules))"
    names = ["sklearn", "pandas", "scipy", "highspy", "pyarrow", "torch", "matplotlib", "cvxpy"]
    done = subprocess.run(
        [sys.executable, "-c", script.format(names=names)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
