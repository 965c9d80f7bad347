import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from comparing import equal
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cdvm import (
    Design,
    InputError,
    InputWarning,
    Outcomes,
    SklearnLearner,
    Split,
    StoreError,
    Subsets,
    merge_stores,
    record_outcomes,
)
from cdvm.outcomes.recording import _notice_constant
from cdvm.outcomes.store import Store, missing_ranges


@pytest.fixture(scope="module")
def learner():
    return SklearnLearner(GaussianNB())


@pytest.fixture(scope="module")
def design(wine):
    return Design(wine.n_rows, 0.1, seed=1)


@pytest.fixture(scope="module")
def whole(wine, learner, design):
    return record_outcomes(wine, learner, design, range(130), n_jobs=1)


def test_bits_are_what_fitting_by_hand_gives(wine, design, whole):
    assert whole.binary
    assert whole.data.nbytes == 130 * 5  # 36 evaluation rows in 5 bytes
    subsets = design.take(range(130))
    for k in (0, 77, 129):
        rows = subsets.rows(k)
        answers = GaussianNB().fit(wine.X[rows], wine.y[rows]).predict(wine.X_val)
        assert (whole.values()[k] == (answers == wine.y_val)).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_outcomes_do_not_depend_on_workers_or_store(wine, learner, design, whole, tmp_path, n_jobs):
    stored = record_outcomes(wine, learner, design, range(130), n_jobs=n_jobs, store=tmp_path / "s")
    assert equal(stored, whole)
    assert equal(Outcomes.load(tmp_path / "s"), whole)


def test_only_missing_models_are_trained(wine, learner, design, whole, tmp_path, monkeypatch):
    store = tmp_path / "s"
    record_outcomes(wine, learner, design, range(60), n_jobs=1, store=store)
    trained = []
    predict = type(learner.bind(wine, wine.X_val)).predict

    def counting(self, subsets):
        trained.extend(subsets.models.tolist())
        return predict(self, subsets)

    monkeypatch.setattr(type(learner.bind(wine, wine.X_val)), "predict", counting)
    again = record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store)
    assert sorted(trained) == list(range(60, 130))
    assert equal(again, whole)
    fewer = record_outcomes(wine, learner, design, range(60), n_jobs=1, store=store)
    assert fewer.models.tolist() == list(range(60))


TEMPLATE = """
import os, sys, time
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from cdvm import Design, SklearnLearner, Split, record_outcomes

class Slow(GaussianNB):
    def fit(self, X, y):
        time.sleep(0.001)
        return super().fit(X, y)
Slow.__module__, Slow.__qualname__ = "sklearn.naive_bayes", "GaussianNB"

X, y = load_wine(return_X_y=True)
split = Split.from_arrays(StandardScaler().fit_transform(X), y, random_state=0)
learner = SklearnLearner(Slow())
for line in sys.stdin:
    order, *words = line.split()
    if order == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(int(words[0]), 0)[1]), flush=True)
        continue
    child = os.fork()
    if not child:
        store, inclusion, first, stop = words
        design = Design(split.n_rows, float(inclusion), seed=1)
        record_outcomes(split, learner, design, range(int(first), int(stop)), n_jobs=1, store=store)
        os._exit(0)
    print(child, flush=True)
"""


class Runs:
    """Processes that train models into a store; they are forks of one, so that imports are paid once."""

    def __init__(self):
        words = [sys.executable, "-c", TEMPLATE]
        self.template = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, store, inclusion, first, stop):
        """Begin a run, and return its process id."""
        return self._tell("run", store, inclusion, first, stop)

    def wait(self, process):
        """Exit code of a run."""
        return self._tell("wait", process)

    def _tell(self, *words):
        print(*words, file=self.template.stdin, flush=True)
        return int(self.template.stdout.readline())

    def stop(self):
        self.template.communicate()


@pytest.fixture
def runs():
    made = Runs()
    yield made
    made.stop()


def test_a_run_killed_ten_times_ends_with_the_same_bits(wine, learner, design, runs, tmp_path, rng):
    """SIGKILL at random moments, each time followed by the same run."""
    store = tmp_path / "store"

    def done():
        return len(list(store.glob("0*.npy")))

    for _ in range(10):
        process, enough = runs.start(store, 0.1, 0, 1500), done() + rng.integers(2)
        deadline = time.monotonic() + 120
        while done() < enough:
            assert time.monotonic() < deadline, "nothing came into the store"
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.15))
        os.kill(process, signal.SIGKILL)
        assert runs.wait(process) == -signal.SIGKILL, "the run ended before it could be killed"
    assert 0 < done() < 30
    assert runs.wait(runs.start(store, 0.1, 0, 1500)) == 0
    assert done() == 30
    straight = record_outcomes(wine, learner, design, range(1500), n_jobs=1)
    assert equal(Outcomes.load(store), straight)


def test_two_writers_at_once_may_overlap(wine, learner, runs, tmp_path):
    """Two processes create one store at the same moment; a third of the models is done by both."""
    store = tmp_path / "store"
    writers = [runs.start(store, 0.01, 0, 430), runs.start(store, 0.01, 215, 600)]
    assert [runs.wait(writer) for writer in writers] == [0, 0]
    straight = record_outcomes(wine, learner, Design(wine.n_rows, 0.01, seed=1), range(600), n_jobs=1)
    assert straight.degenerate > 100
    assert equal(Outcomes.load(store), straight)  # the degenerate models are counted once, too
    assert Store(store).requested() == [(0, 430), (215, 600)]


def test_of_two_runs_that_claim_one_directory_one_is_refused(tmp_path):
    def claim(number):
        try:
            return Store(tmp_path / "s", {"number": number}).manifest
        except StoreError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(claim, range(8)))
    winner = Store(tmp_path / "s").manifest
    assert answers.count(winner) == 1
    assert sum("belongs to another run: number is" in str(answer) for answer in answers) == 7


def test_a_full_disk_ends_in_one_line_and_a_usable_store(wine, learner, design, whole, tmp_path):
    """The disk is a real one of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("no right to mount a small disk")
    try:
        store = disk / "store"
        with pytest.raises(StoreError, match=r"cannot be written \(No space left on device\): .*make room"):
            record_outcomes(wine, learner, design, range(2000), n_jobs=1, store=store)
        kept = Outcomes.load(store)
        assert 100 <= kept.n_models < 2000
        assert (kept.data[:100] == whole.data[:100]).all()
        assert not [file for file in store.iterdir() if file.name.endswith(".part")]
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        assert equal(record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store), whole)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_cannot_grow_ends_in_one_line_and_a_usable_store(wine, learner, design, whole, tmp_path):
    """The system refuses to write files of more than 300 bytes."""
    store = tmp_path / "store"
    record_outcomes(wine, learner, design, range(50), n_jobs=1, store=store)
    before = sorted(store.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot be written \(File too large\)"):
            record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(store.iterdir()) == sorted([*before, store / "requested-00000000-00000130"])
    assert equal(record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store), whole)


@pytest.fixture
def address():
    fsspec = pytest.importorskip("fsspec")
    yield "memory://outcomes/run"
    fsspec.filesystem("memory").rm("/outcomes", recursive=True)


def test_a_store_at_an_address_is_like_any_other(wine, learner, design, whole, address, tmp_path):
    import fsspec

    record_outcomes(wine, learner, design, range(60), n_jobs=1, store=address)
    record_outcomes(wine, learner, design, range(55, 130), n_jobs=1, store=address)
    assert equal(Outcomes.load(address), whole)
    with pytest.raises(StoreError, match=r"design.seed is 1 there and 2 here"):
        record_outcomes(wine, learner, replace(design, seed=2), range(4), n_jobs=1, store=address)
    memory = fsspec.filesystem("memory")
    half, altered = sorted(memory.glob("/outcomes/run/0*.npy"))[:2]
    memory.pipe_file(half, memory.cat_file(half)[:100])  # a writer died
    memory.pipe_file(altered, memory.cat_file(altered)[:-1] + b"x")
    with pytest.warns(InputWarning, match=r"memory://outcomes/run/0\S+ is damaged: it was set aside"):
        again = record_outcomes(wine, learner, design, range(130), n_jobs=1, store=address)
    assert equal(again, whole)
    assert len(memory.glob("/outcomes/run/*.damaged")) == 2
    with pytest.raises(StoreError, match="has no manifest"):
        Outcomes.load("memory://outcomes/nothing")
    merge_stores("memory://outcomes/both", address)
    assert equal(Outcomes.load("memory://outcomes/both"), whole)
    assert equal(Outcomes.load(whole.save(f"file://{tmp_path}/local")), whole)


def test_stores_over_disjoint_ranges_merge(wine, learner, design, whole, tmp_path):
    for name, models in {"a": range(0, 40), "b": range(40, 100), "c": range(100, 130)}.items():
        record_outcomes(wine, learner, design, models, n_jobs=1, store=tmp_path / name)
    merged = merge_stores(tmp_path / "all", tmp_path / "c", tmp_path / "a", tmp_path / "b")
    assert equal(merged, whole)
    assert equal(Outcomes.load(tmp_path / "all"), whole)
    # ranges with a gap between them merge too, and the store goes on to fill the gap
    merge_stores(tmp_path / "gap", tmp_path / "a", tmp_path / "c")
    filled = record_outcomes(wine, learner, design, range(130), n_jobs=1, store=tmp_path / "gap")
    assert equal(filled, whole)
    with pytest.raises(StoreError, match=r"both hold model 40 \(60 in all\)"):
        merge_stores(tmp_path / "twice", tmp_path / "all", tmp_path / "b")


def test_a_store_of_another_run_is_refused_with_the_difference(wine, learner, design, tmp_path):
    store = tmp_path / "s"
    record_outcomes(wine, learner, design, range(4), n_jobs=1, store=store)
    other_data = replace(wine, X=wine.X + 1)
    cases = [
        ((wine, learner, replace(design, seed=2)), r"design.seed is 1 there and 2 here"),
        ((wine, learner, replace(design, inclusion=0.2)), r"design.inclusion is 0.1 there and 0.2 here"),
        ((other_data, learner, design), "fingerprint"),
        ((wine, SklearnLearner(GaussianNB(var_smoothing=0.1)), design), "learner.params.var_smoothing"),
    ]
    for arguments, message in cases:
        with pytest.raises(StoreError, match=message):
            record_outcomes(*arguments, range(4), store=store)
    with pytest.raises(StoreError, match="outcome is 'correct' there and 'margin' here"):
        record_outcomes(wine, learner, design, range(4), outcome="margin", store=store)


def test_out_of_bag_evaluation_rows_are_part_of_the_declaration(wine, learner, design, tmp_path):
    own, some = wine.out_of_bag(), wine.out_of_bag([5, 1, 8])
    for name, split in {"own": own, "some": some, "held": wine}.items():
        made = record_outcomes(split, learner, design, range(6), n_jobs=1, store=tmp_path / name)
        loaded = Outcomes.load(tmp_path / name)
        assert equal(made, loaded)
        rows = [None if o.evaluation_rows is None else o.evaluation_rows.tolist() for o in (made, loaded)]
        expected = None if split.evaluation_rows is None else split.evaluation_rows.tolist()
        assert rows == [expected, expected]
    right = GaussianNB().fit(wine.X[made.design.take([0]).rows(0)], wine.y[made.design.take([0]).rows(0)])
    first = Outcomes.load(tmp_path / "some").values()[0]
    assert first.tolist() == (right.predict(wine.X[[1, 5, 8]]) == wine.y[[1, 5, 8]]).tolist()
    for split, message in [(wine, "evaluation_rows is 'all' there and None here"), (some, "evaluation_rows")]:
        with pytest.raises(StoreError, match=message):
            record_outcomes(split, learner, design, range(6), n_jobs=1, store=tmp_path / "own")


def test_a_damaged_chunk_is_found_and_computed_again(wine, learner, design, whole, tmp_path):
    store = tmp_path / "s"
    record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store)
    truncated, altered = sorted(store.glob("0*.npy"))[:2]
    truncated.write_bytes(truncated.read_bytes()[:-3])
    content = bytearray(altered.read_bytes())
    content[-1] ^= 1
    altered.write_bytes(content)
    with pytest.warns(InputWarning, match="is damaged"):
        again = record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store)
    assert equal(again, whole)
    assert len(list(store.glob("*.damaged"))) == 2


def test_half_written_files_are_not_seen(wine, learner, design, whole, tmp_path):
    store = tmp_path / "s"
    record_outcomes(wine, learner, design, range(50), n_jobs=1, store=store)
    (store / ".00000050-00000100-0-12345678.npy.abc.part").write_bytes(b"half")
    assert equal(record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store), whole)


def test_directories_that_are_no_stores(wine, learner, design, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="not empty and is no outcome store"):
        record_outcomes(wine, learner, design, range(4), store=tmp_path)
    with pytest.raises(StoreError, match="has no manifest"):
        Outcomes.load(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text('{"design": ')
    with pytest.raises(StoreError, match="cannot be read"):
        record_outcomes(wine, learner, design, range(4), store=broken)
    (broken / "manifest.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(StoreError, match="format 99"):
        Outcomes.load(broken)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_degenerate_training_sets_get_a_constant_answer_and_are_counted(wine, learner):
    sets = [[], np.flatnonzero(wine.y == 2)[:3], np.flatnonzero(wine.y == 0)[:1], np.arange(40)]
    answers = learner.predict(wine, Subsets.of(sets, wine.n_rows), wine.X_val)
    majority = np.bincount(wine.y).argmax()
    assert (answers[0] == majority).all()
    assert (answers[1] == 2).all()
    assert (answers[2] == 0).all()
    scores = learner.bind(wine, wine.X_val).scores(Subsets.of(sets, wine.n_rows))
    assert (scores[:3].argmax(axis=2) == answers[:3]).all()
    design = Design(wine.n_rows, 0.01, seed=0)
    subsets = design.take(range(200))
    one_class = [len(np.unique(wine.y[subsets.rows(k)])) < 2 for k in range(200)]
    alike = [len(np.unique(a)) == 1 for a in learner.predict(wine, subsets, wine.X_val)]
    assert 0 < sum(one_class) < sum(alike) < 200
    rare = record_outcomes(wine, learner, design, range(200), n_jobs=1)
    assert (rare.degenerate_models == np.flatnonzero(alike)).all()
    scored = record_outcomes(wine, learner, design, range(20), outcome="margin", n_jobs=1)
    assert np.isin(np.flatnonzero(one_class[:20]), scored.degenerate_models).all()


def test_models_that_learn_nothing_are_noticed_once(wine, learner):
    design = Design(wine.n_rows, 0.004, seed=0)
    said = r"of 40 models of GaussianNB give every evaluation row the same answer"
    said += r".*inclusion \(it is 0.004, about 1 rows"
    with pytest.warns(InputWarning, match=said) as caught:
        record_outcomes(wine, learner, design, range(40), n_jobs=1)
    assert len(caught) == 1
    assert str(caught[0].message).endswith("about 1 rows a model)")
    stump = DecisionTreeClassifier(min_samples_leaf=20)
    with pytest.warns(
        InputWarning, match=r"a model\), or let it learn from few rows \(min_samples_leaf=1\)$"
    ):
        record_outcomes(wine, SklearnLearner(stump), design, range(40), n_jobs=1)


def test_models_that_learn_nothing_are_noticed_where_they_were_asked_for(wine, learner):
    with pytest.warns(InputWarning, match="the same answer") as caught:
        record_outcomes(wine, learner, Design(wine.n_rows, 0.004, seed=0), range(40), n_jobs=1)
    assert caught[0].filename == __file__


def test_a_few_evaluation_rows_are_no_evidence_that_models_learn_nothing(wine, learner, design):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record_outcomes(wine.out_of_bag([5]), learner, design, range(6), n_jobs=1)
        record_outcomes(wine.out_of_bag([1, 5, 8]), learner, design, range(6), n_jobs=1)


@pytest.mark.parametrize(
    ("constant", "evaluation", "noticed"),
    [(90, 20, True), (89, 20, False), (82, 20, False), (1, 20, False), (100, 19, False), (100, 20, True)],
)
def test_nine_models_in_ten_that_learn_nothing_are_noticed(constant, evaluation, noticed, learner):
    design = Design(50, 0.1)
    bits = np.zeros((100, -(-evaluation // 8)), dtype=np.uint8)
    outcomes = Outcomes(design, np.arange(100), bits, evaluation, np.arange(constant), {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _notice_constant(outcomes, learner)
    assert [f"{constant} of 100 models" in str(warning.message) for warning in caught] == [True] * noticed


def test_of_a_larger_store_only_the_models_asked_for_are_answered(wine, learner, design, whole, tmp_path):
    whole.save(tmp_path / "s")
    some = record_outcomes(wine, learner, design, range(20, 50), n_jobs=1, store=tmp_path / "s")
    assert some.models.tolist() == list(range(20, 50))
    assert (some.values() == whole.values()[20:50]).all()


def test_a_store_says_which_data_it_is_of(wine, learner, design):
    few = record_outcomes(wine, learner, design, range(2), n_jobs=1)
    assert few.manifest["fingerprint"] == wine.fingerprint()


def test_designs_of_tables_that_have_changed_are_refused(wine, learner):
    n = wine.n_rows
    for design in (Design(n + 1, 0.1).without(np.array([3])), Design(n - 1, 0.1).grown(1)):
        assert design.n_rows == n
        with pytest.raises(InputError, match="design is of a table that has changed since"):
            record_outcomes(wine, learner, design, range(4), n_jobs=1)


def test_margins_have_the_sign_of_right_and_wrong(wine, learner, design):
    right = record_outcomes(wine, learner, design, range(40), n_jobs=1)
    margin = record_outcomes(wine, learner, design, range(40), outcome="margin", n_jobs=1)
    assert margin.data.dtype == np.float32
    ties = margin.values() == 0
    assert ((margin.values() > 0) == (right.values() == 1))[~ties].all()


def test_answers_tell_which_class_was_taken_for_the_label(wine, learner, design, tmp_path):
    right = record_outcomes(wine, learner, design, range(40), n_jobs=1)
    answers = record_outcomes(
        wine, learner, design, range(40), outcome="answer", n_jobs=1, store=tmp_path / "s"
    )
    assert (answers.values() == right.values()).all()
    for model in range(40):
        rows = design.take([model]).rows(0)
        by_hand = GaussianNB().fit(wine.X[rows], wine.y[rows]).predict(wine.X_val)
        assert (((wine.y_val + answers.answers[model]) % 3) == by_hand).all()
    assert (Outcomes.load(tmp_path / "s").answers == answers.answers).all()


def test_a_file_that_another_reader_set_aside_hides_no_other(wine, learner, design, tmp_path):
    store = tmp_path / "s"
    record_outcomes(wine, learner, design, range(130), n_jobs=1, store=store)
    first, second, third = sorted(store.glob("0*.npy"))
    reading = Store(store).read()
    assert next(reading).first == 0
    second.unlink()
    assert [chunk.first for chunk in reading] == [int(third.name[:8])]
    assert first.exists()


def scaled_margin(codes, scores):
    true = scores[:, np.arange(len(codes)), codes]
    return 2 * true - 1


def test_scores_of_the_users_own(wine, learner, design, tmp_path):
    mine = record_outcomes(
        wine, learner, design, range(6), outcome=scaled_margin, n_jobs=1, store=tmp_path / "s"
    )
    assert mine.values().shape == (6, len(wine.y_val))
    assert (np.abs(mine.values()) <= 1 + 1e-6).all()
    assert (Outcomes.load(tmp_path / "s").values() == mine.values()).all()
    with pytest.raises(InputError, match=r"shape \(6,\)"):
        record_outcomes(wine, learner, design, range(6), outcome=lambda y, s: s[:, 0, 0], n_jobs=1)
    with pytest.raises(InputError, match="NaN"):
        record_outcomes(wine, learner, design, range(6), outcome=lambda y, s: s[..., 0] * np.nan, n_jobs=1)


def test_regression_records_negative_squared_errors(rng):
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0]
    split = Split.from_arrays(X, y, task="regression", random_state=0)
    design = Design(split.n_rows, 0.3, seed=0)
    outcomes = record_outcomes(split, SklearnLearner(LinearRegression()), design, range(20), n_jobs=1)
    assert (outcomes.values() <= 0).all()
    rows = design.take([3]).rows(0)
    by_hand = LinearRegression().fit(split.X[rows], split.y[rows]).predict(split.X_val)
    assert np.allclose(outcomes.values()[3], -((by_hand - split.y_val) ** 2), atol=1e-6)
    with pytest.raises(InputError, match="outcome='correct' does not fit a regression task"):
        record_outcomes(split, SklearnLearner(LinearRegression()), design, range(2), outcome="correct")


def test_missing_ranges_are_filled_in_pieces():
    assert missing_ranges(0, 10, [], 4) == [(0, 4), (4, 8), (8, 10)]
    assert missing_ranges(3, 10, [(0, 5), (4, 7)], 100) == [(7, 10)]
    assert missing_ranges(0, 5, [(0, 10)], 4) == []
    assert missing_ranges(0, 6, [(4, 6), (1, 2)], 2) == [(0, 1), (2, 4)]
    assert missing_ranges(3, 9, [], 4) == [(3, 4), (4, 8), (8, 9)]  # cut where a run from 0 is cut


def noisy_split(rng, n, features, classes):
    X = rng.normal(size=(n, features))
    scores = X @ rng.normal(size=(features, classes)) + np.sqrt(features) * rng.normal(size=(n, classes))
    return Split.from_arrays(X, scores.argmax(axis=1), random_state=0)


@pytest.mark.parametrize(
    ("learner", "features", "classes", "inclusion"),
    [
        ("logistic", 12, 4, 0.1),
        ("logistic", 12, 2, 0.5),  # models on large parts of the table are fitted on all of it
        ("logistic", 140, 3, 0.5),
        ("ridge", 12, 4, 0.1),
        ("paper", 12, 4, 0.1),
        ("neighbors", 12, 4, 0.1),
        ("naive_bayes", 12, 4, 0.1),
    ],
)
def test_scores_are_the_same_bits_in_every_range(rng, learner, features, classes, inclusion):
    split = noisy_split(rng, 400, features, classes)
    design = Design(split.n_rows, inclusion, seed=1)
    whole = record_outcomes(split, learner, design, range(40), outcome="margin", n_jobs=1)
    for models in (range(3, 4), range(5, 18), range(11, 40)):
        part = record_outcomes(split, learner, design, models, outcome="margin", n_jobs=2)
        assert (part.data == whole.data[models.start : models.stop]).all(), models
