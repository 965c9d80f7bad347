"""What several test modules compare."""

import numpy as np

from cdvm import Outcomes


def equal(a: Outcomes, b: Outcomes) -> bool:
    return (
        np.array_equal(a.models, b.models)
        and np.array_equal(a.data, b.data)
        and np.array_equal(a.degenerate_models, b.degenerate_models)
    )
