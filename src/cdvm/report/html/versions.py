"""What a run was done with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "highspy")


def versions() -> dict[str, str]:
    """Of this library, Python and what both stand on."""
    from cdvm import __version__

    found = {"cdvm": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # vendored by whoever packed it
            found[name] = "unknown"
    return found | {"system": f"{platform.system()} {platform.machine()}"}
