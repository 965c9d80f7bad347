"""The notebooks run from top to bottom, and show what they say."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def run(name: str) -> dict[str, Any]:
    """The names a notebook leaves behind; its cells are run as one program, without Jupyter."""
    notebook = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    scope: dict[str, Any] = {"__name__": "__main__"}
    try:
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                code = compile("".join(cell["source"]), f"{name}, cell {number}", "exec")
                exec(code, scope)
        scope["n_figures"] = len(pyplot.get_fignums())
    finally:
        pyplot.close("all")
    return scope


def test_quickstart_beats_random():
    scope = run("quickstart.ipynb")
    assert scope["n_figures"] == 1
    kept, random = (np.array([getattr(s, name) for s in scope["scores"]]) for name in ("kept", "random"))
    assert [len(s) for s in scope["selections"]] == [
        round(r * scope["split"].n_rows) for r in scope["retained"]
    ]
    assert kept[0] > random[0]
    assert (kept - random).mean() > 0


def test_clusters_show_the_papers_figures():
    scope = run("clusters.ipynb")
    assert scope["n_figures"] == 7
    assert (scope["accuracy"] < 0.9).all()
    assert scope["loo"].values.argmax() == 7
    curves = scope["curves"]
    np.testing.assert_allclose(curves["CDVM"], curves["optimal"])
    np.testing.assert_allclose(curves["optimal"], [1, 1, 1, 1, 1, 0.75, 0.5, 0.25])
    assert curves["Shapley"][4] < 1
    assert scope["odd_accuracy"][0] == 1
    assert scope["odd_accuracy"][-1] < 0.9


@pytest.mark.parametrize(("name", "pictures"), [("quickstart.ipynb", 1), ("clusters.ipynb", 7)])
def test_notebooks_carry_the_output_of_one_whole_run(name, pictures):
    cells = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert all(output["output_type"] != "error" and output.get("name") != "stderr" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) == pictures
