import gzip
import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from cdvm import InputError, dataset_info, load_dataset
from cdvm.datasets import download, tabular
from cdvm.datasets.download import Remote

SIZES = {
    "adult": (48842, 108, {"<=50K": 37155, ">50K": 11687}),
    "pol": (15000, 48, {"P": 9959, "N": 5041}),
    "nomao": (34465, 89, {1: 9844, 2: 24621}),
}


@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_tables_have_the_published_sizes(real, name):
    rows, features, counts = SIZES[name]
    data = load_dataset(name)
    assert data.X.shape == (rows, features)
    assert np.isfinite(data.X).all()
    assert pd.Series(data.y).value_counts().to_dict() == counts
    assert len(set(data.columns)) == features
    info = dataset_info(name)
    assert (info.rows, info.features, info.classes, info.here) == (rows, features, 2, "CDVM_DATA_HOME")


@pytest.mark.data
def test_adult_is_one_hot_with_training_rows_first(real):
    data = load_dataset("adult")
    first = dict(zip(data.columns, data.X[0], strict=True))
    assert (first["age"], first["fnlwgt"], first["workclass_State-gov"], first["sex_Male"]) == (
        39,
        77516,
        1,
        1,
    )
    nominal = data.X[:, 6:]
    assert set(np.unique(nominal)) == {0.0, 1.0}
    assert (nominal.sum(axis=1) == 8).all()
    test_row = dict(zip(data.columns, data.X[32561], strict=True))
    assert (test_row["age"], test_row["education_11th"], data.y[32561]) == (25, 1, "<=50K")


@pytest.mark.data
def test_pol_is_labelled_by_its_mean_and_does_not_keep_the_target(real):
    data = load_dataset("pol")
    target = pd.read_csv(real / "pol.csv.gz")["foo"]
    np.testing.assert_array_equal(data.y == "P", target < target.mean())
    assert data.columns == tuple(f"f{k}" for k in range(1, 49))


@pytest.mark.data
def test_nomao_keeps_only_numbers(real):
    columns = load_dataset("nomao").columns
    dropped = [k for k in range(1, 119) if f"V{k}" not in columns]
    assert len(dropped) == 29
    assert dropped[:4] + dropped[-3:] == [7, 8, 15, 16, 108, 112, 116]


@pytest.mark.data
def test_adult_downloaded_is_adult_ready(real, server, monkeypatch, tmp_path):
    ready = load_dataset("adult")
    remotes = []
    for remote in tabular.ADULT:
        content = gzip.decompress((real / f"{remote.name}.gz").read_bytes())
        assert server.add(f"/{remote.name}", content) == remote.digest
        remotes.append(Remote(remote.name, server.url(f"/{remote.name}"), remote.digest))
    monkeypatch.setattr(tabular, "ADULT", tuple(remotes))
    monkeypatch.delenv("CDVM_DATA_HOME")
    assert dataset_info("adult").here == "to download"
    loaded = load_dataset("adult")
    np.testing.assert_array_equal(loaded.X, ready.X)
    np.testing.assert_array_equal(loaded.y, ready.y)
    assert dataset_info("adult").here == "cached"
    load_dataset("adult")
    assert server.asked == ["/adult.data", "/adult.test"]


@pytest.mark.data
@pytest.mark.parametrize("name", ["pol", "nomao"])
def test_an_arff_file_from_openml_is_the_ready_table(real, server, monkeypatch, name):
    ready = load_dataset(name)
    rows = [
        line.split(",") for line in gzip.decompress((real / f"{name}.csv.gz").read_bytes()).decode().split()
    ]
    if name == "pol":
        assert rows[0][-2] == "foo"
        rows = [row[:-2] + row[-1:] for row in rows]  # OpenML's file has no foo
    columns = rows[0]
    head = [f"@ATTRIBUTE {column} numeric" for column in columns[:-1]]
    head += [f"@attribute '{columns[-1]}' {{{','.join(sorted({row[-1] for row in rows[1:]}))}}}"]
    lines = ["% a comment", f"@relation {name}", "", *head, "@DATA", *(",".join(row) for row in rows[1:])]
    content = "\n".join(lines).encode()
    server.add("/file.arff", content)
    description = {"url": server.url("/file.arff"), "md5_checksum": hashlib.md5(content).hexdigest()}
    number = {"pol": 722, "nomao": 1486}[name]
    server.add(f"/{number}", json.dumps({"data_set_description": description}).encode())
    monkeypatch.setattr(download, "_OPENML", server.url("/{}"))
    monkeypatch.delenv("CDVM_DATA_HOME")
    loaded = load_dataset(name)
    np.testing.assert_array_equal(loaded.X, ready.X)
    np.testing.assert_array_equal(loaded.y, ready.y)
    assert loaded.columns == ready.columns
    assert dataset_info(name).here == "cached"


def test_without_files_or_network_both_ways_are_named(cache, server, monkeypatch):
    monkeypatch.setattr(tabular, "ADULT", (Remote("adult.data", server.url("/none"), "sha256:"),))
    monkeypatch.setattr(download, "_OPENML", server.url("/none/{}"))
    for name, files in {
        "adult": "adult.data.gz and adult.test.gz",
        "pol": "pol.csv.gz",
        "nomao": "nomao.csv.gz",
    }.items():
        with pytest.raises(InputError, match=f"put {files} into .*CDVM_DATA_HOME, or connect"):
            load_dataset(name)


def test_a_broken_file_is_named(home):
    whole = gzip.compress(b"f1,f2\n" + b"1,2\n" * 1000)
    (home / "pol.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"pol\.csv\.gz cannot be read \(EOFError"):
        load_dataset("pol")


def pol_table(rows):
    table = pd.DataFrame(np.ones((rows, 48)), columns=[f"f{k}" for k in range(1, 49)])
    return table.assign(foo=np.arange(rows))


def test_columns_cells_and_rows_that_are_missing_are_named(home):
    pol_table(20).drop(columns=["f3", "f9"]).to_csv(home / "pol.csv", index=False)
    with pytest.raises(InputError, match=r"pol\.csv lacks the columns f3, f9"):
        load_dataset("pol")
    pol_table(20).assign(f5=np.nan).to_csv(home / "pol.csv", index=False)
    with pytest.raises(InputError, match="empty cells in column 'f5'"):
        load_dataset("pol")
    pol_table(20).to_csv(home / "pol.csv", index=False)
    with pytest.raises(InputError, match="hold 20 rows, not the 15000"):
        load_dataset("pol")


def test_pol_without_labels_is_labelled_by_the_mean(home):
    pol_table(20).to_csv(home / "pol.csv", index=False)
    assert tabular.load_pol().y.tolist() == ["P"] * 10 + ["N"] * 10


def test_an_arff_file_without_data(tmp_path):
    (tmp_path / "a.arff").write_text("@relation a\n@attribute x numeric\n")
    with pytest.raises(InputError, match="no line @data"):
        tabular.read_arff(tmp_path / "a.arff")
