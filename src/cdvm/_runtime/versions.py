"""What a run is done with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

_NEEDED = ("numpy", "scipy", "scikit-learn", "highspy", "joblib", "pandas", "pyarrow")
_EXTRAS = ("numba", "torch", "lightgbm", "xgboost", "catboost", "distributed")


def versions() -> dict[str, str]:
    """Of this library, Python, what it stands on, and what else is there that models are made with.

    >>> list(versions())[:3]
    ['cdvm', 'Python', 'numpy']
    """
    from cdvm import __version__

    found = {"cdvm": __version__, "Python": platform.python_version()}
    for name in (*_NEEDED, *_EXTRAS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name in _NEEDED:  # vendored by whoever packed it
                found[name] = "unknown"
    return found | {"system": f"{platform.system()} {platform.machine()}"}
