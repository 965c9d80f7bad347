import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"], index=[f"r{i}" for i in range(40)])
    return X, pd.Series(["yes", "no"] * 20, index=X.index)
