"""The page about defaults names all of them, with the values they have."""

import inspect
import re
from pathlib import Path

from cdvm import CDVM
from cdvm.evaluation.refinement import refine, scorer, search

PAGE = (Path(__file__).parents[1] / "docs" / "defaults.md").read_text(encoding="utf-8")
NOT_CHOSEN = {
    "seconds",
    "metric",
    "store",
    "memory_limit",
    "n_jobs",
    "random_state",
    "progress",
}  # the user's
REFINING = {
    "steepness of the score, at most": scorer._STEEPEST,
    "at least, for classes of one size": scorer._GENTLEST,
    "times the spread of margins, in between": scorer._SPREADS,
    "random sets that tell the spread": scorer._TRIALS,
    "sets a round": search._PROPOSALS,
    "rows exchanged at once, at first": search._FRACTION,
    "weight of a round's evidence one round later": search._MEMORY,
    "one evaluation row held back in": scorer._HELD_BACK,
    "standard errors that undo a search": search._DOUBT,
    "rounds without a better set that end a search": search._PATIENCE,
    "sets trained again, for a learner with randomness": search._CONTENDERS,
    "fits for each of them": search._REPEATS,
    "fits": refine.FITS,
}


def stated(pattern):
    return dict(re.findall(rf"^\| {pattern} \| `([^`]+)` \|", PAGE, flags=re.MULTILINE))


def test_every_parameter_of_the_estimator_is_there_with_its_default():
    defaults = {name: p.default for name, p in inspect.signature(CDVM).parameters.items()}
    assert stated("`([a-z_]+)`") == {n: repr(d) for n, d in defaults.items() if n not in NOT_CHOSEN}


def test_every_constant_of_refining_is_there_with_its_value():
    found = stated("([^|`]+?)")
    assert {name: float(value) for name, value in found.items()} == REFINING
