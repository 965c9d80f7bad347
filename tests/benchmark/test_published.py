from cdvm.benchmark.published import LEVELS, PAPER_METHODS, paper_results


def test_the_papers_table_is_whole():
    table = paper_results()
    assert len(table) == 222
    assert set(table["method"]) == set(PAPER_METHODS)
    assert set(table["percent"]) == set(LEVELS)
    assert (table.groupby("dataset")["method"].nunique() == 6).sum() == 5  # nomao has CDVM-n too
    assert table["paper"].between(0.3, 0.96).all()
    line = table.query("dataset == 'cifar10' and method == 'CDVM10k' and percent == 5")
    assert line[["paper", "paper_std"]].to_numpy().tolist() == [[0.463, 0.03]]


def test_the_papers_table_is_a_copy():
    table = paper_results()
    table["paper"] = 0.0
    assert (paper_results()["paper"] > 0).all()
