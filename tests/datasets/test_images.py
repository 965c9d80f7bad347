import gzip
import io
import tarfile

import numpy as np
import pytest

from cdvm import InputError, dataset_info, load_dataset
from cdvm.datasets import images
from cdvm.datasets.download import Remote


@pytest.mark.data
def test_cifar10_embeddings_carry_the_classes_of_the_images(real):
    data = load_dataset("cifar10")
    assert data.X.shape == (10000, 1280)
    assert np.isfinite(data.X).all()
    raw, codes, index = images.read_cifar10()
    assert raw.shape == (10000, 32, 32, 3)
    assert raw.dtype == np.uint8
    np.testing.assert_array_equal(index, data.index)
    np.testing.assert_array_equal(np.array(images._CIFAR_CLASSES)[codes], data.y)
    assert data.y[0] == "frog"  # the first training image is of class 6
    assert raw[0, 0, 0].tolist() == [59, 62, 63]


@pytest.mark.data
def test_fashion_mnist_is_pixels_between_0_and_1_with_its_own_test_part(real):
    data = load_dataset("fashion_mnist")
    assert (data.X.shape, data.X_test.shape) == ((60000, 784), (10000, 784))
    assert data.X.dtype == data.X_test.dtype == np.float32
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    names, counts = np.unique(data.y, return_counts=True)
    assert len(names) == 10
    assert set(counts) == {6000}
    assert set(np.unique(data.y_test, return_counts=True)[1]) == {1000}
    assert data.y[:3].tolist() == ["Ankle boot", "T-shirt/top", "T-shirt/top"]
    assert dataset_info("fashion_mnist").here == "CDVM_DATA_HOME"


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes())


def test_fashion_mnist_downloads_its_four_files(cache, server, monkeypatch, rng):
    remotes, pixels = {}, rng.integers(0, 256, (4, 2, 2))
    for stem, remote in images.FASHION.items():
        digest = server.add(f"/{stem}", idx(pixels if "images" in stem else np.arange(4)))
        remotes[stem] = Remote(remote.name, server.url(f"/{stem}"), digest)
    monkeypatch.setattr(images, "FASHION", remotes)
    data = images.load_fashion_mnist()
    np.testing.assert_allclose(data.X, pixels.reshape(4, 4) / 255, rtol=1e-6)
    assert data.y_test.tolist() == ["T-shirt/top", "Trouser", "Pullover", "Dress"]
    assert dataset_info("fashion_mnist").here == "cached"
    with pytest.raises(InputError, match="hold 4 rows, not the 60000"):
        load_dataset("fashion_mnist")


def test_cifar10_comes_out_of_the_binary_archive_as_rgb(cache, server, monkeypatch, rng):
    expected, labels = rng.integers(0, 256, (10, 32, 32, 3)).astype(np.uint8), np.arange(10, dtype=np.uint8)
    records = np.hstack([labels[:, None], expected.transpose(0, 3, 1, 2).reshape(10, -1)])
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for number in range(5):
            content = records[2 * number : 2 * number + 2].tobytes()
            member = tarfile.TarInfo(f"cifar-10-batches-bin/data_batch_{number + 1}.bin")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    digest = server.add("/cifar", buffer.getvalue())
    monkeypatch.setattr(images, "CIFAR", Remote("cifar-10-binary.tar.gz", server.url("/cifar"), digest))
    X, y, index = images.read_cifar10()
    np.testing.assert_array_equal(X, expected)
    assert y.tolist() == index.tolist() == list(range(10))


def test_files_of_another_layout_are_named(home, tmp_path):
    folder = home / "fashion-mnist"
    folder.mkdir()
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"something else"))
    with pytest.raises(
        InputError, match=r"train-images-idx3-ubyte\.gz cannot be read .*not in the IDX layout"
    ):
        load_dataset("fashion_mnist")
    (folder / "train-images-idx3-ubyte.gz").write_bytes(idx(np.zeros((3, 2, 2)))[:-12])
    with pytest.raises(InputError, match="cannot be read"):
        load_dataset("fashion_mnist")
