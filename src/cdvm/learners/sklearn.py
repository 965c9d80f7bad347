"""Any scikit-learn estimator, one fit a model.

Thousands of fits run side by side, so each has one thread, and what an estimator would warn of or print every
time is not shown. Labels are counted anew in every training set, 0 to the number of classes it has: some
estimators of other libraries accept no others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from cdvm._runtime.parallel import Prefer, blas_threads
from cdvm.data.raw import RawColumns, as_given
from cdvm.data.split import Features, Split, Task
from cdvm.errors import InputError
from cdvm.learners.base import LEAVES, Learner, Reads, Trainer
from cdvm.sampling import RandomStream, Subsets, draw_words

__all__ = ["SklearnLearner"]

# what libraries with threads and messages of their own need to be told, where scikit-learn's do not
_ALONE: dict[str, dict[str, Any]] = {
    "lightgbm": {"n_jobs": 1, "verbose": -1},
    "xgboost": {"n_jobs": 1, "verbosity": 0},
    "catboost": {"thread_count": 1, "allow_writing_files": False},
}
_BOOSTERS = ("lightgbm", "xgboost", "catboost")  # read categories, as scikit-learn's histogram trees do
_LOUDNESS = {"verbose", "verbose_eval", "silent", "logging_level"}  # of which CatBoost takes one
# rows, or their weight, that a leaf of a tree must have: by default more than a small subset holds
_LEAF = ("min_child_samples", "min_samples_leaf", "min_data_in_leaf")  # rows of a leaf, at least
_THRIFT = {"min_child_samples": 1, "min_samples_leaf": 1, "min_child_weight": 0}

_KINDS = ("classifier", "regressor")
# numbers of a training set that one thread learns in seconds: where other work keeps cores busy, several
# wait for each other, scikit-learn's histogram trees for minutes
_FEW = 2**20


class SklearnLearner(Learner):
    """Fit clones of an estimator; random states left open follow from the model's number.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor
        Or one that follows scikit-learn's conventions. Its ``n_jobs`` is not used: models are trained side by
        side instead.

    Attributes
    ----------
    note : str or None
        Why no faster learner took its place, where one nearly could.
    """

    name = "sklearn"

    def __init__(self, estimator: Any) -> None:
        for method in ("fit", "predict", "get_params"):
            # one that stacks others predicts only once it is fitted
            if not hasattr(estimator, method) and not (method == "predict" and _kind_of(estimator) in _KINDS):
                raise InputError(
                    f"learner={_short(estimator)} has no {method}(): pass a classifier or regressor with "
                    "scikit-learn's methods, or a name"
                )
        self.estimator = estimator
        self.note: str | None = None
        self.task = _task_of(estimator)
        self.stochastic = bool(_open_states(estimator)) or _says_it_is_random(estimator)

    @property
    def title(self) -> str:
        return type(self.estimator).__name__

    @property
    def reads(self) -> Reads:
        parts = [self.estimator, *self.estimator.get_params().values()]
        kinds = {base.__name__ for part in parts for base in type(part).__mro__}
        if kinds & {"Pipeline", "ColumnTransformer", "FeatureUnion"}:
            return "columns"  # whoever writes one says what becomes of columns
        own = {base.__name__ for base in type(self.estimator).__mro__}
        if _libraries(self.estimator) & {*_BOOSTERS} or "BaseHistGradientBoosting" in own:
            return "categories"
        return "missing" if _allows_missing(self.estimator) else "numbers"

    @property
    def enough_rows(self) -> int:
        asked = (self.estimator.get_params().get(name) for name in _LEAF)
        least = next((value for value in asked if isinstance(value, int) and value > 1), 0)
        return LEAVES * least

    @property
    def thrift(self) -> str:
        return ", ".join(
            f"{name}={_THRIFT[name]}"
            for name, value in self.estimator.get_params().items()
            if name in _THRIFT and value is not None and value > _THRIFT[name]
        )

    def bind(self, split: Split, X: Features) -> Trainer:
        if self.task != split.task:
            kind = "regressor" if self.task == "regression" else "classifier"
            raise InputError(
                f"learner={_short(self.estimator)} is a {kind} and does not fit a {split.task} split"
            )
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
    reads_columns: ClassVar[bool] = True

    def __init__(self, split: Split, X: Features, estimator: Any) -> None:
        super().__init__(split, X)
        self.estimator = clone(estimator).set_params(**_alone(estimator))
        self._categories = _categories(estimator, split.X)  # CatBoost with them cannot be cloned
        self._open_states = _open_states(estimator)
        weights = [v for k, v in estimator.get_params().items() if k.rpartition("__")[2] == "class_weight"]
        self._recoded = split.task == "classification" and not any(isinstance(w, dict) for w in weights)

    def _labels(self, subsets: Subsets) -> NDArray[Any]:
        dtype = np.float64 if self.split.task == "regression" else np.int32
        answer = np.empty((len(subsets), self.X.shape[0]), dtype=dtype)
        for k in range(len(subsets)):
            with self._one_of_many(subsets, k):
                model, present = self._fit(subsets, k)
                found = np.asarray(model.predict(as_given(self.X))).reshape(-1)  # CatBoost has a column
                answer[k] = found if present is None else present[found.astype(np.int64)]
        return answer

    def _scores(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        cure = "gives no scores: use outcome='correct' or another learner"
        return self._ask(subsets, ("decision_function", "predict_proba"), cure)

    def probabilities(self, subsets: Subsets) -> NDArray[np.floating[Any]]:
        cure = "gives no probabilities: use another metric, or another learner"
        return self._where_possible(subsets, lambda some: self._ask(some, ("predict_proba",), cure))

    def _ask(self, subsets: Subsets, methods: Sequence[str], cure: str) -> NDArray[np.floating[Any]]:
        """What the first method that its models have gives, for all classes of the split."""
        answer = np.empty((len(subsets), self.X.shape[0], self.split.n_classes), dtype=np.float32)
        for k in range(len(subsets)):
            with self._one_of_many(subsets, k):
                model, present = self._fit(subsets, k)  # one that stacks others does not have them before
                method = next((m for m in methods if hasattr(model, m)), None)
                if method is None:
                    missing = ("neither " if len(methods) > 1 else "no ") + " nor ".join(methods)
                    raise InputError(f"{type(self.estimator).__name__} has {missing}, so it {cure}")
                scores = np.asarray(getattr(model, method)(as_given(self.X)))
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
            if scores.shape[1] != len(model.classes_):
                raise InputError(
                    f"{type(self.estimator).__name__} scores pairs of classes, not classes: "
                    "set decision_function_shape='ovr'"
                )
            answer[k] = 0.0 if method == "predict_proba" else scores.min(axis=1, keepdims=True)
            codes = np.asarray(model.classes_, dtype=np.int64)
            answer[k][:, codes if present is None else present[codes]] = scores
        return answer

    def _fit(self, subsets: Subsets, k: int) -> tuple[Any, NDArray[np.int64] | None]:
        """The model, and the class that each of its labels stands for (None: the labels are the classes)."""
        rows = subsets.rows(k)
        model = clone(self.estimator).set_params(**self._categories)
        if self._open_states:
            number = int(subsets.models[k])
            words = draw_words(subsets.seed, RandomStream.ESTIMATOR, number, 1, len(self._open_states))[0]
            seeds = (words >> np.uint64(33)).tolist()
            _set_states(model, dict(zip(self._open_states, seeds, strict=True)))
        present, y = None, self.split.y[rows]
        if self._recoded:
            present, y = np.unique(y, return_inverse=True)
        return model.fit(as_given(self.split.X[rows]), y), present

    @contextmanager
    def _one_of_many(self, subsets: Subsets, k: int) -> Iterator[None]:
        """Let an estimator's complaint name the model and its rows, and its warnings be silent."""
        try:
            rows = len(subsets.rows(k))
            few = rows * int(self.split.X.shape[1]) <= _FEW
            with warnings.catch_warnings(), blas_threads(1 if few else None):
                warnings.simplefilter("ignore")
                yield
        except (InputError, MemoryError):
            raise
        except Exception as error:  # other libraries have errors of their own
            said = (str(error) or type(error).__name__).splitlines()[0]
            # a pipeline of one's own got the columns as they came, and may not be made for them
            cure = "; prepare=True would make numbers of the columns first" * isinstance(self.X, RawColumns)
            raise InputError(
                f"{type(self.estimator).__name__} cannot be used on the {rows} rows of model "
                f"{int(subsets.models[k])}: {said}{cure}"
            ) from error


def _kind_of(estimator: Any) -> str | None:
    try:
        kind: str | None = get_tags(estimator).estimator_type
    except AttributeError:  # it has scikit-learn's methods and none of its base classes
        kind = getattr(estimator, "_estimator_type", None)
    return kind


def _task_of(estimator: Any) -> Task:
    kind = _kind_of(estimator)
    if kind is not None and kind not in _KINDS:
        article = "an" if kind[0] in "aeiou" else "a"
        raise InputError(
            f"learner={_short(estimator)} is {article} {kind.replace('_', ' ')}: "
            "pass a classifier or a regressor"
        )
    return "regression" if kind == "regressor" else "classification"


def _says_it_is_random(estimator: Any) -> bool:
    try:
        return bool(get_tags(estimator).non_deterministic)
    except AttributeError:
        return False


def _alone(estimator: Any) -> dict[str, Any]:
    """Parameters that give an estimator, and those inside it, one thread and no messages."""
    nested = {k: v for k, v in estimator.get_params().items() if hasattr(v, "get_params")}
    settings: dict[str, Any] = {}
    for prefix, part in {"": estimator, **{f"{key}__": value for key, value in nested.items()}}.items():
        if isinstance(part, type):
            continue
        own = next((_ALONE[name] for name in _ALONE if name in _libraries(part)), None)
        if own is None:
            own = {"n_jobs": 1} if part.get_params(deep=False).get("n_jobs") is not None else {}
        if own is _ALONE["catboost"] and not _LOUDNESS & {*part.get_params()}:
            own = own | {"verbose": False}
        settings |= {prefix + key: value for key, value in own.items()}
    return settings


def _categories(estimator: Any, X: Features) -> dict[str, Any]:
    """What some libraries must be told of columns that hold categories."""
    dtypes = getattr(as_given(X), "dtypes", None) if isinstance(X, RawColumns) else None
    names = [] if dtypes is None else [name for name, kind in dtypes.items() if str(kind) == "category"]
    libraries, params = _libraries(estimator), estimator.get_params(deep=False)
    if names and "catboost" in libraries and params.get("cat_features") is None:
        return {"cat_features": names}
    if names and "xgboost" in libraries and not params.get("enable_categorical"):
        return {"enable_categorical": True}
    return {}


def _libraries(estimator: Any) -> set[str]:
    return {base.__module__.partition(".")[0] for base in type(estimator).__mro__}


def _allows_missing(estimator: Any) -> bool:
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except AttributeError:
        return False


def _open_states(estimator: Any) -> list[str]:
    """Parameters that seed the estimator's randomness and were left to us.

    Those that divide rows into parts (``cv=KFold(shuffle=True)``) are no estimators but have a state, too.
    """
    found = []
    for key, value in estimator.get_params(deep=True).items():
        last = key.rpartition("__")[2]
        splits = hasattr(value, "split") and getattr(value, "shuffle", True)
        if (last == "random_state" and value is None) or (
            splits and not hasattr(value, "get_params") and getattr(value, "random_state", 0) is None
        ):
            found.append(key)
    return found


def _set_states(model: Any, seeds: dict[str, int]) -> None:
    params = model.get_params()
    for key, seed in seeds.items():
        if params[key] is not None:  # a clone has its own
            params[key].random_state = seed
    model.set_params(**{key: seed for key, seed in seeds.items() if params[key] is None})


def _short(estimator: Any) -> str:
    """An estimator's text in one line."""
    return " ".join(repr(estimator).split())
