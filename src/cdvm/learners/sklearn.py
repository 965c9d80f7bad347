"""Any scikit-learn estimator, one fit a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning

from cdvm.errors import InputError
from cdvm.learners.base import Learner, Trainer
from cdvm.parallel import Prefer
from cdvm.split import Features, Split
from cdvm.subsets import Stream, Subsets, draw_words

__all__ = ["SklearnLearner"]


class SklearnLearner(Learner):
    """Fit clones of an estimator; random states left open follow from the model's number.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor

    Attributes
    ----------
    note : str or None
        Why no faster learner took its place, where one nearly could.
    """

    name = "sklearn"

    def __init__(self, estimator: Any) -> None:
        for method in ("fit", "predict", "get_params"):
            if not hasattr(estimator, method):
                raise InputError(
                    f"learner={estimator!r} has no {method}(): pass a scikit-learn estimator or a name"
                )
        self.estimator = estimator
        self.note: str | None = None
        self.task = "regression" if is_regressor(estimator) else "classification"
        self.stochastic = bool(_open_states(estimator))

    def bind(self, split: Split, X: Features) -> Trainer:
        if self.task != split.task:
            raise InputError(f"{type(self.estimator).__name__} does not fit a {split.task} split")
        return _SklearnTrainer(split, X, self.estimator)

    def spec(self) -> dict[str, Any]:
        kind = type(self.estimator)
        # Nested estimators appear with their own parameters, so their addresses-in-memory do not matter.
        params = {
            key: repr(value)
            for key, value in sorted(self.estimator.get_params(deep=True).items())
            if not hasattr(value, "get_params")
        }
        return {"name": self.name, "estimator": f"{kind.__module__}.{kind.__qualname__}", "params": params}


class _SklearnTrainer(Trainer):
    prefer: ClassVar[Prefer] = "processes"
    chunk: ClassVar[int] = 50

    def __init__(self, split: Split, X: Features, estimator: Any) -> None:
        super().__init__(split, X)
        self.estimator = estimator
        self._open_states = _open_states(estimator)

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        dtype = np.float64 if self.split.task == "regression" else np.int32
        answer = np.empty((len(subsets), self.X.shape[0]), dtype=dtype)
        for k in range(len(subsets)):
            with self._naming(subsets, k):
                answer[k] = self._fit(subsets, k).predict(self.X)
        return answer

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        method = next((m for m in ("decision_function", "predict_proba") if hasattr(self.estimator, m)), None)
        if method is None:
            raise InputError(
                f"{type(self.estimator).__name__} has neither decision_function nor predict_proba, "
                "so it gives no scores: use outcome='correct' or another learner"
            )
        answer = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        for k in range(len(subsets)):
            with self._naming(subsets, k):
                model = self._fit(subsets, k)
                scores = np.asarray(getattr(model, method)(self.X))
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
            if scores.shape[1] != len(model.classes_):
                raise InputError(
                    f"{type(self.estimator).__name__} scores pairs of classes, not classes: "
                    "set decision_function_shape='ovr'"
                )
            answer[k] = 0.0 if method == "predict_proba" else scores.min(axis=1, keepdims=True)
            answer[k][:, model.classes_] = scores
        return answer

    def _fit(self, subsets: Subsets, k: int) -> Any:
        rows = subsets.rows(k)
        model = clone(self.estimator)
        if self._open_states:
            number = int(subsets.models[k])
            words = draw_words(subsets.seed, Stream.ESTIMATOR, number, 1, len(self._open_states))[0]
            model.set_params(
                **{key: int(w >> np.uint64(33)) for key, w in zip(self._open_states, words, strict=True)}
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(self.split.X[rows], self.split.y[rows])

    @contextmanager
    def _naming(self, subsets: Subsets, k: int) -> Iterator[None]:
        """Let an estimator's complaint name the model and its rows."""
        try:
            yield
        except ValueError as error:
            raise InputError(
                f"{type(self.estimator).__name__} cannot be used on the {len(subsets.rows(k))} rows of model "
                f"{int(subsets.models[k])}: {error}"
            ) from error


def _open_states(estimator: Any) -> list[str]:
    """Parameters that seed the estimator's randomness and were left to us."""
    return [
        key
        for key, value in estimator.get_params(deep=True).items()
        if (key == "random_state" or key.endswith("__random_state")) and value is None
    ]
