"""Training, validation and test rows, checked once.

Everything a user passes goes through :meth:`Split.from_arrays`. Behind it features are finite float arrays
(or CSR matrices), labels are class codes ``0..K-1``, and nothing needs to be checked again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from cdvm._runtime.parameters import RANDOM_STATE, check, number, one_of
from cdvm.data.checks import Features, Task, check_classes, check_labels, encode_labels
from cdvm.data.parts import HOLDOUT, PREPARE, SIZES, Door, Prepare, check_parts, hold_out, second_labels
from cdvm.data.raw import RawColumns
from cdvm.data.target import check_target, warn_of_leaks
from cdvm.errors import InputError

__all__ = ["HOLDOUT", "MAX_EVALUATION_ROWS", "Features", "Split", "Task", "evaluation_sample"]

MAX_EVALUATION_ROWS = 5_000
"""Training rows that are evaluated out of bag, at most; of a larger table a random sample does."""

_RULES = {
    "task": one_of("classification", "regression"),
    "validation": one_of(None, "holdout", "out_of_bag"),
    "validation_size": number(lambda fraction: 0 < fraction < 1, "a fraction between 0 and 1, e.g. 0.2"),
    "test_size": number(
        lambda fraction: 0 <= fraction < 1, "a fraction between 0 and 1, e.g. 0.2, or 0 for none"
    ),
    "random_state": RANDOM_STATE,
    "prepare": PREPARE,
}


def evaluation_sample(n_rows: int) -> NDArray[np.int64]:
    """The training rows that are evaluation rows: all, or a fixed random sample of a large table."""
    if n_rows <= MAX_EVALUATION_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:MAX_EVALUATION_ROWS])


@dataclass(frozen=True, eq=False)
class Split:
    """Checked training, validation and (perhaps) test rows.

    Attributes
    ----------
    X, X_val, X_test : ndarray, csr_array or RawColumns
        Features; raw columns only for learners that read them. ``X_val`` is None where training rows are the
        evaluation rows, ``X_test`` may be None.
    y, y_val, y_test : ndarray
        Class codes (a label never seen in training is -1), or targets for regression.
    classes : ndarray or None
        The label of each code; None for regression.
    rows : ndarray
        Position of each training row in the table that was passed.
    n_table : int
        Rows of that table, those held out included.
    index : ndarray or None
        The training rows' DataFrame labels, where there was a DataFrame.
    evaluation_rows : ndarray or None
        Out-of-bag evaluation: the training rows that are evaluation rows, each by the models that did not
        see it. None where there are validation rows.
    scaled : bool
        Whether the features are standardised.
    preparation : Preparation or None
        What made the features of a table's columns, where something did.
    way : tuple of functions
        How further rows of the table become such features, one step after the other.
    """

    X: Features
    y: NDArray[Any]
    X_val: Features | None
    y_val: NDArray[Any] | None
    classes: NDArray[Any] | None
    rows: NDArray[np.int64]
    n_table: int
    index: NDArray[Any] | None = None
    X_test: Features | None = None
    y_test: NDArray[Any] | None = None
    evaluation_rows: NDArray[np.int64] | None = None
    scaled: bool = False
    preparation: Any = None
    way: tuple[Callable[[Any], Any], ...] = ()

    @property
    def n_rows(self) -> int:
        """Training rows."""
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        """Classes seen in training; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def task(self) -> Task:
        return "regression" if self.classes is None else "classification"

    @property
    def evaluation(self) -> tuple[Features, NDArray[Any]]:
        """The rows on which outcomes are recorded, and their labels."""
        if self.evaluation_rows is None:
            return self.validation
        if len(self.evaluation_rows) == self.n_rows:
            return self.X, self.y
        return self.X[self.evaluation_rows], self.y[self.evaluation_rows]

    @property
    def validation(self) -> tuple[Features, NDArray[Any]]:
        """Rows no model is trained on, for methods that cannot do without, and their labels."""
        if self.X_val is None or self.y_val is None:
            raise InputError(
                "there are no validation rows, and this method needs some: pass X_val and y_val, or hold a "
                "part out with validation='holdout'"
            )
        return self.X_val, self.y_val

    def out_of_bag(self, evaluation_rows: Any = None) -> Split:
        """The same training rows, evaluated by the models that did not see them.

        Parameters
        ----------
        evaluation_rows : sequence of int, optional
            Positions of the training rows that are evaluation rows; by default all, or a random sample of
            ``MAX_EVALUATION_ROWS``.
        """
        n = self.n_rows
        if evaluation_rows is None:
            evaluation_rows = evaluation_sample(n)
        rows = np.unique(np.asarray(evaluation_rows, dtype=np.int64))
        if not len(rows) or rows[0] < 0 or rows[-1] >= n:
            raise InputError(f"evaluation_rows: use positions of training rows, 0 to {n - 1}, at least one")
        return replace(self, X_val=None, y_val=None, evaluation_rows=rows)

    def standardized(self) -> Split:
        """The same rows, every feature scaled to mean 0 and standard deviation 1 over the training rows.

        Sparse features are scaled but not centred. A split that is standardised already stays as it is.
        """
        if self.scaled:
            return self
        scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
        parts = {"X": self.X, "X_val": self.X_val, "X_test": self.X_test}
        scaled: dict[str, Any] = {k: None if v is None else scaler.transform(v) for k, v in parts.items()}
        return replace(self, scaled=True, way=(*self.way, scaler.transform), **scaled)

    def fingerprint(self) -> str:
        """Digest of the training and validation rows: equal data, equal digest."""
        digest = hashlib.sha256()
        parts: list[Any] = [self.X, self.y, *(self.validation if self.evaluation_rows is None else ())]
        for part in parts:
            if isinstance(part, RawColumns):
                digest.update(part.digest())
                continue
            arrays = (part.data, part.indices, part.indptr) if sparse.issparse(part) else (part,)
            for array in arrays:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()[:32]

    def labels(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Labels of class codes (or the targets themselves, for regression)."""
        return codes if self.classes is None else self.classes[codes]

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        task: Task = "classification",
        validation: Literal["holdout", "out_of_bag"] | None = None,
        validation_size: float = SIZES["validation_size"],
        test_size: float = SIZES["test_size"],
        random_state: Any = None,
        prepare: Prepare = None,
    ) -> Split:
        """Check what the user passed; hold out a stratified validation part when none is given.

        Parameters
        ----------
        X, X_val, X_test : array, DataFrame or sparse matrix
        y, y_val, y_test : sequence of labels of any hashable type, or of numbers for regression
        task : {"classification", "regression"}
        validation : {"holdout", "out_of_bag"}, optional
            Where ``X_val`` is not given: hold a part out, the default, or let the training rows be
            evaluation rows (:meth:`out_of_bag`).
        validation_size, test_size : float
            Fractions of the rows held out where ``X_val``, ``X_test`` are not given.
        random_state : int, RandomState or None
            Decides which rows are held out.
        prepare : {None, "missing", "columns"} or Preparation, optional
            How features come in: as finite numbers; as numbers of which some may be NaN; as the columns they
            are, for learners that read names, categories and missing values; or through a
            :class:`cdvm.Preparation`, which is fitted on the training rows.

        Examples
        --------
        >>> split = Split.from_arrays([[0.0], [1.0]] * 10, ["no", "yes"] * 10, random_state=0)
        >>> split.n_rows, len(split.y_val), list(split.classes)
        (16, 4, [np.str_('no'), np.str_('yes')])
        """
        sizes = {"validation_size": validation_size, "test_size": test_size}
        words = {"task": task, "validation": validation, "random_state": random_state, "prepare": prepare}
        check(_RULES, words | sizes)
        others = {"val": (X_val, y_val), "test": (X_test, y_test)}
        check_parts(others, validation, sizes)
        door = Door(prepare)
        features = door.read(X)
        given = check_labels(y, "y", len_of=features, task=task)
        fractions = {"val": validation_size} if X_val is None and validation != "out_of_bag" else {}
        fractions |= {"test": test_size} if test_size else {}

        classes, codes = (None, given) if task == "regression" else encode_labels(given)
        check_target(given, classes, codes)
        if classes is not None:
            check_classes(classes, codes, parts=1 + len(fractions))

        rows: dict[str, Any] = {"train": np.arange(features.shape[0], dtype=np.int64)}
        if fractions:
            sizes_of = list(fractions.values())
            held = hold_out(codes, sizes_of, stratify=task != "regression", random_state=random_state)
            rows = dict(zip(("train", *fractions), held, strict=True))
        raw = features[rows["train"]] if fractions else features
        train = door.fit(raw)
        warn_of_leaks(
            raw, codes[rows["train"]], door.columns, task, getattr(door.preparation, "needed_", None)
        )
        parts: dict[str, Any] = {"X_val": None, "y_val": None}
        for part in fractions:
            parts |= {f"X_{part}": door.transform(features[rows[part]]), f"y_{part}": codes[rows[part]]}
        for part, (X_given, y_given) in others.items():
            if X_given is not None:
                second = door.read_second(X_given, f"X_{part}", train)
                labels = second_labels(y_given, f"y_{part}", len_of=second, classes=classes, task=task)
                parts |= {f"X_{part}": second, f"y_{part}": labels}
        split = cls(
            X=train,
            y=codes[rows["train"]],
            classes=classes,
            rows=rows["train"],
            n_table=features.shape[0],
            index=None if door.index is None else door.index[rows["train"]],
            scaled=bool(getattr(door.preparation, "scale", False)),
            preparation=door.preparation,
            way=(door.reader(train),),
            **parts,
        )
        if split.y_val is None:
            return split.out_of_bag()
        if len(split.y_val) < max(split.n_classes, 1):
            raise InputError(
                f"y_val has {len(split.y_val)} rows for {split.n_classes} classes: "
                "pass at least one validation row per class"
            )
        return split
