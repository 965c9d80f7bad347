from __future__ import annotations

import pandas as pd
import pytest
from pages import nasty_table

from cdvm import CDVM
from cdvm.selection import Selection


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return nasty_table()


@pytest.fixture(scope="session")
def pruner(table):
    features = table.drop(columns="label")
    return CDVM("logistic", effort="low", n_models=150, inclusion=0.15, n_jobs=1, random_state=0).fit(
        features, table["label"]
    )


@pytest.fixture(scope="session")
def chosen(pruner) -> list[Selection]:
    return pruner.select([12, 30])


@pytest.fixture(scope="session")
def text(pruner, chosen, table, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert pruner.report(path, chosen, table=table, groups=table["group"], name="<table>") == path
    return path.read_text(encoding="utf-8")
