"""Data sets of other libraries, Hugging Face's and PyTorch's: as features and labels, and rows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.errors import InputError, unknown_name

__all__ = ["features_and_labels", "is_collection", "rows_of_collection"]

_USUAL = ("label", "labels", "target")


def is_collection(data: Any) -> bool:
    """Whether this is a ``datasets.Dataset`` or a ``torch.utils.data.Dataset``."""
    return _is_hugging_face(data) or _is_torch(data)


def features_and_labels(data: Any, y: Any, name: str = "X") -> tuple[Any, Any]:
    """A table and labels.

    Of a Hugging Face data set ``y`` names the column of labels, by default the one that its features say is a
    label, or is called so. Items of a PyTorch data set are pairs of features and a label.
    """
    if _is_hugging_face(data):
        return _from_hugging_face(data, y, name)
    if not (_is_torch(data) and y is None):
        return data, y
    if not (hasattr(data, "__len__") and hasattr(type(data), "__getitem__")):
        raise InputError(f"{name} is a {type(data).__name__}, whose items have no number: pass one that has")
    items = [data[k] for k in range(len(data))]
    if not items or not all(isinstance(item, tuple | list) and len(item) == 2 for item in items):
        raise InputError(f"{name} must give pairs (features, label): pass arrays of features and of labels")
    rows = [np.asarray(x).ravel() for x, _ in items]
    if len({row.shape for row in rows}) > 1:
        raise InputError(f"{name} has items of several sizes: bring them to one, or pass embeddings")
    return np.stack(rows), [label.item() if hasattr(label, "item") else label for _, label in items]


def rows_of_collection(data: Any, indices: NDArray[np.int64]) -> Any:
    """Some rows, as a data set of the same library."""
    if _is_hugging_face(data):
        return data.select(indices)
    from torch.utils.data import Subset

    return Subset(data, indices.tolist())


def _from_hugging_face(data: Any, y: Any, name: str) -> tuple[Any, Any]:
    names = list(data.column_names)
    if y is None:
        told = [c for c, kind in data.features.items() if type(kind).__name__ == "ClassLabel"]
        found = told if len(told) == 1 else [c for c in _USUAL if c in names][:1]
        if not found:
            raise InputError(f"y is missing: name the column of labels of {name}, one of {', '.join(names)}")
        y = found[0]
    if not isinstance(y, str):
        return data.to_pandas(), y
    if y not in names:
        raise unknown_name("y", y, names)
    frame = data.to_pandas()
    return frame.drop(columns=y), frame[y]


def _is_hugging_face(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "datasets" and hasattr(data, "column_names")


def _is_torch(data: Any) -> bool:
    return any(base.__module__.startswith("torch.utils.data") for base in type(data).__mro__)
