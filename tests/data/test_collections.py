"""Data sets of Hugging Face and PyTorch."""

import numpy as np
import pandas as pd
import pytest

from cdvm import CDVM, InputError


@pytest.fixture
def frame(rng):
    label = np.arange(80) % 2
    jobs = np.where(rng.random(80) < 0.8, np.array(["cook", "smith"])[label], "baker")
    return pd.DataFrame({"size": rng.normal(size=80) + label, "job": jobs, "label": label})


def pruner(**settings):
    return CDVM(n_models=30, inclusion=0.2, n_jobs=1, random_state=0, **settings)


def test_a_hugging_face_data_set_in_and_out(frame):
    datasets = pytest.importorskip("datasets")
    if not hasattr(datasets, "Dataset"):  # a directory of tests has that name, too
        pytest.skip("Hugging Face's datasets is not installed: pip install datasets")
    data = datasets.Dataset.from_pandas(frame)
    expected = pruner().fit(frame[["size", "job"]], frame["label"]).select(10).indices.tolist()
    for y in (None, "label", frame["label"]):
        table = data if isinstance(y, str | None) else data.remove_columns("label")
        keep = pruner().fit(table, y).select(10)
        assert keep.indices.tolist() == expected
        kept = keep.take(table)
        assert isinstance(kept, datasets.Dataset)
        assert kept["job"] == frame["job"].iloc[expected].tolist()
    named = data.rename_column("label", "kind").cast_column("kind", datasets.ClassLabel(names=["p", "n"]))
    assert pruner().fit(named).select(10).indices.tolist() == expected
    with pytest.raises(InputError, match="y='labl' is unknown: did you mean 'label'"):
        pruner().fit(data, "labl")
    with pytest.raises(InputError, match="name the column of labels of X, one of size, job, kind"):
        pruner().fit(data.rename_column("label", "kind"))
    own = pruner().fit(data.select(range(60)), "label", data.select(range(60, 80)), "label")
    assert len(own.split_.y_val) == 20


def test_a_pytorch_data_set_in_and_out(rng):
    torch = pytest.importorskip("torch")
    X, y = torch.tensor(rng.normal(size=(60, 2, 3))), torch.arange(60) % 2
    data = torch.utils.data.TensorDataset(X, y)
    keep = pruner().fit(data).select(6)
    assert (
        keep.indices.tolist() == pruner().fit(X.numpy().reshape(60, 6), y.numpy()).select(6).indices.tolist()
    )
    kept = keep.take(data)
    assert isinstance(kept, torch.utils.data.Subset)
    assert torch.equal(kept[0][0], X[keep.indices[0]])
    with pytest.raises(InputError, match=r"X must give pairs \(features, label\)"):
        pruner().fit(torch.utils.data.TensorDataset(X))

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([])

    with pytest.raises(InputError, match="X is a Stream, whose items have no number"):
        pruner().fit(Stream())
