"""``cdvm datasets``: what can be pruned by name, and what of it is here."""

from __future__ import annotations

__all__ = ["datasets"]


def datasets() -> None:
    """List the data sets that --dataset knows, and where their files are.

    A file is looked for in the directory that the variable CDVM_DATA_HOME names, then in the cache (variable
    CDVM_CACHE, or the user's cache directory); what is found in neither is downloaded when it is first used.

    Example: `CDVM_DATA_HOME=~/data cdvm datasets`
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from cdvm.datasets import dataset_info, dataset_names
    from cdvm.datasets.download import HOME, cache_dir, data_home

    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("name", "rows", "features", "classes", "source", "here"):
        number = heading in {"rows", "features", "classes"}
        grid.add_column(heading, justify="right" if number else "left", no_wrap=heading != "source")
    for name in dataset_names():
        info = dataset_info(name)
        here = f"in {HOME}" if info.here == HOME else info.here
        grid.add_row(name, f"{info.rows:,}", f"{info.features:,}", str(info.classes), info.source, here)
    console = Console()
    console.print(grid)
    home = data_home()
    console.print(f"{HOME}: {'not set' if home is None else home}", highlight=False, soft_wrap=True)
    console.print(f"cache: {cache_dir()}", highlight=False, soft_wrap=True)
