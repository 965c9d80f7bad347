import sys
from types import SimpleNamespace

import numpy as np
import pytest

from cdvm import InputError, dataset_info, load_dataset
from cdvm.datasets import embeddings, images
from cdvm.datasets.embeddings import Embedded, embed_images, embed_texts

TEXTS = ["a", "bb", "ccc"] * 15


@pytest.fixture
def transformers(monkeypatch):
    """A library whose model answers with each token's number, twice."""
    torch = pytest.importorskip("torch")

    def tokenize(texts, *, padding, truncation, max_length, return_tensors):
        assert (padding, truncation, return_tensors) == ("max_length", True, "pt")
        rows = [[len(t)] * min(len(t), max_length) + [0] * (max_length - len(t)) for t in texts]
        return {"input_ids": torch.tensor(rows)}

    class Model:
        def eval(self):
            return self

        def __call__(self, input_ids):
            assert torch.is_inference_mode_enabled()
            return SimpleNamespace(last_hidden_state=input_ids[..., None].float().repeat(1, 1, 2))

    def load(name, what):
        if name == "nowhere":
            raise OSError("no such model\nmore")
        return what

    library = SimpleNamespace(
        AutoTokenizer=SimpleNamespace(from_pretrained=lambda name: load(name, tokenize)),
        AutoModel=SimpleNamespace(from_pretrained=lambda name: load(name, Model())),
    )
    monkeypatch.setitem(sys.modules, "transformers", library)


@pytest.fixture
def torchvision(monkeypatch):
    """A library whose network is the mean over all pixels, then a layer to be left out."""
    torch = pytest.importorskip("torch")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 1000)

        def forward(self, images):
            assert not self.training
            return self.fc(images.mean(dim=(2, 3)))

    weights = SimpleNamespace(transforms=lambda antialias: lambda images: images.float() / 255)
    models = SimpleNamespace(
        ResNet50_Weights=SimpleNamespace(DEFAULT=weights), resnet50=lambda weights: Network()
    )
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(models=models))


def test_texts_are_averaged_over_all_positions(transformers):
    X = embed_texts(TEXTS, tokens=10)
    assert X.shape == (45, 2)
    np.testing.assert_allclose(X[:3, 0], [0.1, 0.4, 0.9], rtol=1e-6)
    np.testing.assert_array_equal(X[:3], X[-3:])  # over several batches


def test_images_are_taken_before_the_last_layer(torchvision, rng):
    pixels = rng.integers(0, 256, (40, 5, 5, 3)).astype(np.uint8)
    np.testing.assert_allclose(embed_images(pixels), pixels.mean(axis=(1, 2)) / 255, rtol=1e-5)


def test_weights_that_cannot_be_loaded_are_named(transformers):
    with pytest.raises(InputError, match=r"weights of nowhere cannot be loaded \(no such model\)"):
        embed_texts(TEXTS, model="nowhere")


@pytest.mark.parametrize(("name", "library"), [("bbc", "transformers"), ("cifar10", "torchvision")])
def test_a_missing_library_is_named_before_anything_is_downloaded(cache, monkeypatch, name, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("cdvm.datasets.download._download", lambda *_, **__: pytest.fail("asked the network"))
    with pytest.raises(InputError) as raised:
        load_dataset(name)
    for word in (f"{name}_embeddings.npz", "CDVM_DATA_HOME", library, "pip install 'cdvm[embeddings]'"):
        assert word in str(raised.value)


def test_what_was_embedded_is_kept(cache, transformers):
    asked = []

    def read():
        asked.append(1)
        return TEXTS, np.arange(45) % 3, np.arange(45) + 100

    kind = Embedded(
        "mine", ("x", "y", "z"), 45, 768, "here", ("mine.csv",), read, embed_texts, "transformers"
    )
    assert kind.describe().here == "to download and embed"
    first, second = kind.load(), kind.load()
    assert len(asked) == 1
    np.testing.assert_array_equal(first.X, second.X)
    assert first.y[:4].tolist() == ["x", "y", "z", "x"]
    assert first.index.tolist() == list(range(100, 145))
    with np.load(cache / "mine_embeddings.npz") as file:
        assert {k: file[k].dtype for k in file.files} == {"X": np.float16, "y": np.int64, "index": np.int64}
    info = kind.describe()
    assert (info.rows, info.features, info.here) == (45, 2, "cached")


def test_cifar10_images_are_embedded_when_there_are_no_embeddings(home, torchvision, rng):
    pixels = rng.integers(0, 256, (6, 32, 32, 3)).astype(np.uint8)
    np.savez(home / images._CIFAR_IMAGES, X=pixels, y=np.arange(6), index=np.arange(6))
    assert dataset_info("cifar10").here == "to embed"
    data = load_dataset("cifar10")
    np.testing.assert_allclose(data.X, pixels.mean(axis=(1, 2)) / 255, rtol=1e-2)
    assert data.y[:2].tolist() == ["airplane", "automobile"]
    assert dataset_info("cifar10").here == "cached"


GOOD = {"X": np.ones((4, 3), np.float16), "y": np.array([0, 1, 2, 4]), "index": np.arange(4)}


def test_ready_embeddings_of_any_width_are_accepted(home):
    np.savez(home / "bbc_embeddings.npz", X=GOOD["X"], y=GOOD["y"])
    data = load_dataset("bbc")
    assert data.X.shape == (4, 3)
    assert data.y.tolist() == ["business", "entertainment", "sport", "politics"]
    assert data.index is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(3)}, r"X \(4, 3\) and y \(3,\) do not fit"),
        ({"X": np.ones(4)}, "do not fit"),
        ({"X": np.full((4, 3), np.nan)}, "NaN or infinity"),
        ({"y": np.array([0, 1, 2, 5])}, "class codes 0 to 4"),
        ({"y": np.array([-1, 1, 2, 3])}, "class codes 0 to 4"),
        ({"y": np.array([0.5, 1, 2, 3])}, "class codes 0 to 4"),
        ({"X": None}, "cannot be read"),
        ({"X": np.array([[{}]] * 4)}, "cannot be read"),
    ],
)
def test_embeddings_that_do_not_fit_are_refused(home, change, message):
    np.savez(home / "bbc_embeddings.npz", **{k: v for k, v in (GOOD | change).items() if v is not None})
    with pytest.raises(InputError, match=message) as raised:
        load_dataset("bbc")
    assert "bbc_embeddings.npz" in str(raised.value)


def test_half_a_file_of_embeddings_is_named_and_does_not_break_the_list(home):
    (home / "bbc_embeddings.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=r"bbc_embeddings\.npz cannot be read"):
        load_dataset("bbc")
    assert dataset_info("bbc").here == "unreadable"


def test_the_shape_is_read_without_the_data(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((7, 5), np.float16))
    assert embeddings._shape(tmp_path / "a.npz") == (7, 5)
