"""A run for the tests of pages: small, with everything a table may hold that a page must not fall over."""

from __future__ import annotations

import numpy as np
import pandas as pd

NASTY = '</script><script>alert("x")</script>'
LABELS = ("<b>yes</b>", 'no "&" no')


def nasty_table(n: int = 120) -> pd.DataFrame:
    """Two classes, columns and values that look like markup, a wrong label and twins."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "<script>alert(1)</script>": 3 * y + rng.standard_normal(n),
            "b": rng.standard_normal(n),
            "group": np.where(np.arange(n) % 3 == 0, "<i>south</i>", "north"),
            "note": [NASTY if k == 0 else f"n{k % 4}" for k in range(n)],
            "label": np.array(LABELS, dtype=object)[y],
        }
    )
    frame.loc[7, "label"] = LABELS[0]  # is the other class by its features
    frame.iloc[11] = frame.iloc[9]  # there twice,
    frame.iloc[13] = frame.iloc[9]
    frame.loc[13, "label"] = LABELS[0]  # and once more with another label
    return frame
