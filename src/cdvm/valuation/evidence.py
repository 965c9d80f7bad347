"""How surprising is each label to the models that did not see its row?

Of the models without row i, a fraction votes for each class. Sharpened or softened by one exponent t, the
fractions are the beliefs b_i(c) ∝ (fraction of c)^t. A label is taken to be drawn from them but, with
probability e, from all classes alike: the two numbers t and e are those under which the labels are
likeliest. The second keeps wrong labels from softening the beliefs: fitted without it, a tenth of wrong
labels makes models believe in a tenth of anything.

The p-value of a label is the belief in all classes no likelier than it. Were all labels drawn as the models
believe, one as surprising or more would occur with at most that probability; so of rows with right labels no
more than ``rate`` have a p-value of ``rate`` or less, as far as the models suit the table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit

from cdvm.data.split import Split
from cdvm.errors import InputError
from cdvm.outcomes.recorded import Outcomes

__all__ = ["count_votes", "surprise"]

Vector = NDArray[np.float64]

_NO_VOTE = 0.1  # votes that all classes together get besides those there are: none is impossible
_STARTS = ((0.0, -3.0), (0.0, -6.0), (-1.0, -3.0))  # log t and logit e
_FITTED_TO = 5_000  # rows, at most, that decide on two numbers
_BLOCK = 10_000_000  # answers counted at once


def count_votes(outcomes: Outcomes, split: Split) -> Vector | None:
    """Votes of the models without each row; column d of K is for class (label + d) mod K.

    None where only right and wrong were recorded and there are more than two classes.
    """
    n, classes = split.n_rows, split.n_classes
    if outcomes.answers is None and (classes != 2 or not outcomes.binary):
        return None
    wrong = outcomes.answers if outcomes.answers is not None else 1 - outcomes.values()
    if wrong.min() < 0 or wrong.max() >= classes:
        raise InputError(f"outcomes name classes beyond the {classes} there are: record them again")
    votes = np.zeros(n * classes)
    step = max(1, _BLOCK // n)
    for first in range(0, outcomes.n_models, step):
        some = slice(first, first + step)
        place = np.arange(n) * classes + wrong[some]
        outside = outcomes.design.take(outcomes.models[some]).members.toarray() == 0
        votes += np.bincount(place[outside], minlength=n * classes)
    return votes.reshape(n, classes)


def surprise(votes: Vector) -> tuple[Vector, float]:
    """The p-value of every label, and the fraction e of labels that the votes do not explain.

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_classes)
        Votes for each class, the given label first.

    Examples
    --------
    >>> votes = np.repeat([[400.0, 0], [300, 100], [100, 300], [0, 400]], [90, 30, 10, 5], axis=0)
    >>> p, fraction = surprise(votes)
    >>> p[[0, 90, 120, 130]].round(2), round(fraction, 2)
    (array([1.  , 1.  , 0.22, 0.  ]), 0.05)
    """
    n_classes = votes.shape[1]
    logs = np.log(votes + _NO_VOTE / n_classes)
    some = (
        logs
        if len(logs) <= _FITTED_TO
        else logs[np.random.RandomState(0).permutation(len(logs))[:_FITTED_TO]]
    )

    def loss(point: Vector) -> float:
        fraction = expit(point[1])
        own = _beliefs(some, np.exp(point[0]))[:, 0]
        return -float(np.log((1 - fraction) * own + fraction / n_classes).mean())

    found = min(
        (optimize.minimize(loss, start, method="Nelder-Mead") for start in _STARTS),
        key=lambda r: float(r.fun),
    )
    beliefs = _beliefs(logs, np.exp(found.x[0]))
    p = np.where(beliefs <= beliefs[:, :1], beliefs, 0.0).sum(axis=1)
    return np.minimum(p, 1.0), float(expit(found.x[1])) * (1 - 1 / n_classes)


def _beliefs(logs: Vector, exponent: float) -> Vector:
    powers = exponent * (logs - logs.max(axis=1, keepdims=True))
    return np.asarray(np.exp(powers) / np.exp(powers).sum(axis=1, keepdims=True))
