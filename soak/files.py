"""Damaged ``.npz`` files of attributions, values and selections, loaded and used."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdvm.attribution.base import Attribution, MatrixAttribution
from cdvm.attribution.implicit import ImplicitAttribution
from cdvm.pruner.estimator import CDVM
from cdvm.selection import Selection
from cdvm.valuation import Values, value_rows
from soak.cases import Centroids, record, small_split
from soak.damage import damage
from soak.verdicts import Fault, Kind, Wrong, told, verdict_of

__all__ = ["KIND"]

_FAULTS = 50  # a round
_LOADERS: dict[str, Callable[[Path], Any]] = {
    "attribution": Attribution.load,
    "selection": Selection.load,
    "values": Values.load,
}


def _alone(here: Path) -> None:
    split, outcomes = small_split(), {name: record(outcome=name) for name in ("correct", "margin")}
    for name, recorded in outcomes.items():
        attribution = ImplicitAttribution.from_outcomes(recorded)
        attribution.save(here / f"attribution-{name}")
        MatrixAttribution(attribution.dense()).save(here / f"attribution-dense-{name}")
        attribution.sparsify(0.2, progress=False, n_jobs=1).save(here / f"attribution-sparse-{name}")
    pruner = CDVM(Centroids(), n_jobs=1, random_state=0, progress=False).fit_outcomes(
        split, outcomes["correct"]
    )
    pruner.select(10).save(here / "selection")
    value_rows(split, Centroids(), "out_of_bag", n_models=100, seed=0, n_jobs=1).save(here / "values")


def _strike(rng: Random, alone: Path, here: Path) -> Iterator[Fault]:
    files = sorted(alone.glob("*.npz"))
    for _ in range(_FAULTS):
        original = rng.choice(files)
        kind = original.name.split("-")[0].removesuffix(".npz")
        file = here / original.name
        shutil.copyfile(original, file)
        crafted = rng.random() < 0.3
        what = (
            _craft(rng, file)
            if crafted
            else damage(rng, file, [f for f in files if not f.name.startswith(kind)])
        )
        load = _LOADERS[kind]

        def check(
            file: Path = file, original: Path = original, crafted: bool = crafted, load: Any = load
        ) -> None:
            try:
                told(lambda: _use(load(file), None if crafted else original, file.with_name("again.npz")))
            except FileNotFoundError as error:
                if file.exists():
                    raise
                if str(file) not in str(error):
                    raise Wrong("silent", f"an error that does not name the file: {error}") from error

        yield verdict_of(f"{original.name}: {what}", check)
        shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)


def _use(loaded: Any, original: Path | None, again: Path) -> None:
    """What loads is what was saved, bit for bit; what was crafted may differ and must not crash."""
    if isinstance(loaded, Attribution):
        loaded.matvec(np.ones(loaded.shape[1]))
        loaded.rmatvec(np.ones(loaded.shape[0]))
        loaded.block(slice(0, 3))
        loaded.max()
    else:
        repr(loaded)
    if original is not None and loaded.save(again).read_bytes() != original.read_bytes():
        raise Wrong("wrong bits", "loads as something else than was saved")


def _craft(rng: Random, file: Path) -> str:
    """Alter one array and write a file that is whole: nothing but its content is wrong."""
    with np.load(file, allow_pickle=False) as content:
        arrays = {name: content[name] for name in content.files}
    name = rng.choice([name for name in arrays if name != "meta"])
    array = arrays[name]
    ways: list[tuple[str, Callable[[], NDArray[Any]]]] = [
        ("shorter", lambda: array[: len(array) // 2]),
        ("empty", lambda: array[:0]),
        ("of other entries", lambda: _altered(rng, array)),
        ("of text", lambda: array.astype(str)),
        ("of one more dimension", lambda: array[None]),
        ("flat", array.ravel),
    ]
    how, make = rng.choice(ways if array.ndim else [ways[3], ways[4]])
    if rng.random() < 0.1:
        how = "missing"
        del arrays[name]
    else:
        arrays[name] = make()
    np.savez_compressed(file, **arrays)
    return f"crafted, {name} is {how}"


def _altered(rng: Random, array: NDArray[Any]) -> NDArray[Any]:
    altered = array.copy()
    if altered.size:
        kind = altered.dtype.kind
        worst = [np.nan, np.inf, -np.inf, 1e308] if kind == "f" else [-1, 10**6, 2**31 - 1]
        place = rng.randrange(altered.size)
        with np.errstate(all="ignore"):
            altered.flat[place] = np.array(rng.choice(worst)).astype(altered.dtype)
    return altered


KIND = Kind("files", "damaged and crafted .npz files, loaded in Python", _alone, _strike)
