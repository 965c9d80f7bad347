"""What several test modules compare."""

import numpy as np

from cdvm import Outcomes


def equal(a: Outcomes, b: Outcomes) -> bool:
    return (
        np.array_equal(a.models, b.models)
        and np.array_equal(a.data, b.data)
        and np.array_equal(a.degenerate_models, b.degenerate_models)
    )


def written(table, rows, path) -> bytes:
    """Some rows of a table as they are written."""
    table.write_rows(np.asarray(rows, dtype=np.int64), path)
    return path.read_bytes()
