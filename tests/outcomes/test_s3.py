"""Stores in S3, against moto's server."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from comparing import equal
from sklearn.naive_bayes import GaussianNB

from cdvm import Design, Outcomes, SklearnLearner, StoreError, record_outcomes
from cdvm.outcomes.store import Store

s3fs = pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

SERVE = """
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
input()
"""


@pytest.fixture(scope="module")
def server():
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    process.kill()
    process.communicate()


@pytest.fixture
def bucket(server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    system.mkdir("runs")
    yield system
    system.rm("runs", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_mistyped_bucket_is_named_and_not_created(bucket, wine):
    design = Design(wine.n_rows, 0.1)
    with pytest.raises(StoreError, match=r"s3://rnus/one: there is no 'rnus': create it, or name another"):
        record_outcomes(wine, "naive_bayes", design, range(4), store="s3://rnus/one")
    with pytest.raises(StoreError, match="no outcome store"):
        Outcomes.load("s3://rnus/one")
    assert bucket.ls("") == ["runs"]


def test_a_store_in_s3_is_like_any_other(bucket, wine):
    learner, design = SklearnLearner(GaussianNB()), Design(wine.n_rows, 0.1, seed=1)
    whole = record_outcomes(wine, learner, design, range(70), n_jobs=1)
    record_outcomes(wine, learner, design, range(50), n_jobs=1, store="s3://runs/one")
    assert equal(record_outcomes(wine, learner, design, range(70), n_jobs=1, store="s3://runs/one"), whole)
    assert equal(Outcomes.load("s3://runs/one"), whole)
    bucket.rm("runs/one/manifest.json")
    store = Store("s3://runs/two", {"number": 1})
    bucket.rm("runs/two", recursive=True)
    with pytest.raises(StoreError, match="was deleted while this run wrote to it"):
        store.check_own()


def test_of_many_runs_that_claim_one_place_in_s3_one_wins(bucket):
    def claim(number):
        try:
            return Store("s3://runs/contested", {"number": number}).manifest
        except StoreError as error:
            return str(error)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(claim, range(6)))
    assert answers.count(Store("s3://runs/contested").manifest) == 1
    assert sum("belongs to another run: number is" in str(answer) for answer in answers) == 5
