import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

from cdvm import CDVM, GrownAttribution, InputError, InputWarning, Outcomes, Split

QUICK = {
    "effort": "low",
    "n_models": 400,
    "inclusion": 0.08,
    "random_state": 0,
    "n_jobs": 1,
    "progress": False,
}


@pytest.fixture(scope="module")
def rows():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.fixture(scope="module")
def fitted(rows):
    return pickle.dumps(CDVM("ridge", **QUICK).fit(rows[0][:150], rows[1][:150]))


def by_loops(pruner):
    """T by plain loops, from who saw what and who was right."""
    n, m = pruner.split_.n_rows, len(pruner.split_.evaluation[1])
    top, bottom = np.zeros((n, m)), np.zeros((n, m))
    for outcomes in pruner.evidence_:
        members = outcomes.design.take(outcomes.models).members.toarray() > 0
        values, asked = outcomes.values().astype(float), outcomes.evaluation_rows
        for j in range(values.shape[1]):
            saw_j = members[:, asked[j]]
            own = np.where(saw_j, values[~saw_j, j].mean(), values[:, j])
            for i in range(n):
                saw = members[:, i]
                if saw.any() and not saw.all():
                    weight = saw.sum() * (~saw).sum() / len(saw)
                    top[i, j] += weight * (own[saw].mean() - own[~saw].mean())
                    bottom[i, j] += weight
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def test_new_rows_become_candidates_and_evaluation_rows(rows, fitted):
    X, y = rows
    pruner = pickle.loads(fitted)
    before = pruner.outcomes_
    assert pruner.update(X[150:], y[150:]) is pruner
    assert pruner.split_.n_rows == len(pruner.split_.evaluation[1]) == 178
    old, new = pruner.evidence_
    assert old.data is before.data
    assert 90 < new.n_models < 200
    # each new row is in about as many models as an old one, and a subset is as large as ever
    seen = new.design.take(new.models).members
    assert seen[:, 150:].sum() / 28 == pytest.approx(400 * 0.08, rel=0.2)
    assert seen.sum() / new.n_models == pytest.approx(178 * 0.08, rel=0.1)
    assert isinstance(pruner.attribution_, GrownAttribution)
    assert pruner.attribution_.dense() == pytest.approx(by_loops(pruner), abs=1e-5)
    keep = pruner.select(20)
    assert keep.n_rows == 178
    assert keep.take(X).shape == (20, 13)
    assert (keep.indices >= 150).any()
    assert pruner.explain(170, keep).right is not None


def test_features_are_made_as_they_were_at_first(rows):
    frame = pd.DataFrame(rows[0]).assign(job=np.where(rows[1] == 0, "baker", "cook"))
    frame.columns = frame.columns.map(str)
    labels = np.array(["a", "b", "c"])[rows[1]]
    pruner = CDVM("ridge", **QUICK | {"n_models": 50}).fit(frame[:150], labels[:150])
    first = pruner.split_.X.copy()
    pruner.update(frame[150:], labels[150:])
    assert (pruner.split_.X[:150] == first).all()
    numbers = StandardScaler().fit(rows[0][:150]).transform(rows[0])
    assert pruner.split_.X[:, :13] == pytest.approx(numbers)
    assert pruner.split_.index.tolist() == list(range(178))
    assert pruner.feature_names_in_.tolist() == frame.columns.tolist()
    assert pruner.select(10, keep=[177]).take(frame).index[-1] == 177


def test_a_proxy_sees_new_rows_too(rows):
    from sklearn.svm import SVC

    X, y = rows
    pruner = CDVM(SVC(), **QUICK | {"n_models": 60}).fit(X[:150], y[:150])
    pruner.update(X[150:], y[150:])
    assert (pruner.split_.X == X).all()
    assert pytest.approx(StandardScaler().fit(X[:150]).transform(X)) == pruner._rows.X
    assert len(pruner.select(12)) == 12


def test_with_validation_rows_every_time_was_asked_about_all(rows):
    X, y = rows
    pruner = CDVM("ridge", **QUICK).fit(X[:100], y[:100], X[140:], y[140:])
    pruner.update(X[100:140], y[100:140])
    assert pruner.attribution_.shape == (140, 38)
    assert len(pruner.select(12)) == 12


def test_several_updates_and_a_store_that_grows(rows, tmp_path):
    X, y = rows
    made = [CDVM("ridge", **QUICK | {"n_models": 100}, store=tmp_path / "runs") for _ in range(2)]
    for pruner in made:  # the second finds all models there
        pruner.fit(X[:100], y[:100]).update(X[100:140], y[100:140]).update(X[140:], y[140:], n_models=50)
    assert [o.n_models for o in made[0].evidence_] == [100, *[o.n_models for o in made[0].evidence_[1:]]]
    assert made[0].evidence_[2].n_models == 50
    assert (made[0].attribution_.dense() == made[1].attribution_.dense()).all()
    assert {p.name for p in (tmp_path / "runs").iterdir()} >= {"manifest.json", "change-1", "change-2"}
    recorded = Outcomes.load(tmp_path / "runs" / "change-2")
    assert (recorded.data == made[0].evidence_[2].data).all()
    assert made[0].attribution_.dense() == pytest.approx(by_loops(made[0]), abs=1e-5)


def test_an_update_is_nearly_as_good_as_a_fit_of_all_rows():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order][:330], y[order][:330]
    settings = QUICK | {"n_models": 3000}
    grown = CDVM("ridge", **settings).fit(X[:300], y[:300]).update(X[300:], y[300:])
    anew, other = (CDVM("ridge", **settings | {"random_state": s}).fit(X, y) for s in (1, 2))
    truth, same = anew.attribution_.row_sums(), other.attribution_.row_sums()
    usual = np.corrcoef(truth, same)[0, 1]
    found = grown.attribution_.row_sums()
    assert np.corrcoef(truth[:300], found[:300])[0, 1] > usual - 0.1
    assert np.corrcoef(truth[300:], found[300:])[0, 1] > usual - 0.2
    assert sum(o.n_models for o in grown.evidence_[1:]) <= 800


def test_forgetting_leaves_what_was_never_near_the_rows(rows, fitted, tmp_path):
    X = rows[0]
    pruner = pickle.loads(fitted)
    before, gone = pruner.outcomes_, np.array([3, 77, 149])
    stays = np.delete(np.arange(150), gone)
    members = before.design.take(before.models).members.toarray()
    clean = members[:, gone].sum(axis=1) == 0
    pruner.forget(gone)
    left, more = pruner.evidence_
    assert left.models.tolist() == before.models[clean].tolist()
    assert more.n_models == 400 - clean.sum()
    assert (left.design.take(left.models).members.toarray() == members[clean][:, stays]).all()
    assert (left.values() == before.values()[clean][:, stays]).all()
    assert pruner.split_.n_rows == pruner.split_.n_table == 147
    assert pytest.approx(StandardScaler().fit(X[:150]).transform(X[stays])) == pruner.split_.X
    # models of before and those trained since are of one design on one table
    assert not isinstance(pruner.attribution_, GrownAttribution)
    assert pruner.attribution_.n_models == 400
    assert len(pruner.select(20).take(X[stays])) == 20


def test_models_left_and_models_trained_since_are_alike(rows):
    """With features as they are, what is left is bit by bit what the rows that stay would have given."""
    X, y = StandardScaler().fit_transform(rows[0]), rows[1]
    pruner = CDVM("ridge", **QUICK, scale=False).fit(X[:100], y[:100])
    pruner.forget([0, 50], n_models=0)
    (left,) = pruner.evidence_
    stays = np.delete(np.arange(100), [0, 50])
    trainer = pruner.learner_.bind(pruner.split_, X[stays])
    assert (X[stays] == pruner.split_.X).all()
    right = trainer.predict(left.design.take(left.models)) == y[stays]
    assert (left.values() == right).all()


def test_rows_gone_are_gone_from_the_store(rows, tmp_path):
    X, y = rows
    pruner = CDVM("ridge", **QUICK | {"n_models": 100}, store=tmp_path / "runs").fit(X[:100], y[:100])
    pruner.update(X[100:140], y[100:140])
    old = {p.name for p in (tmp_path / "runs").glob("*.npy")}
    pruner.forget([7, 120])
    assert not old & {p.name for p in (tmp_path / "runs").glob("*.npy")}
    for outcomes, place in zip(pruner.evidence_, pruner._stores, strict=True):
        stored = Outcomes.load(place)
        assert (stored.data == outcomes.data).all()
        assert stored.design == outcomes.design
        assert stored.n_evaluation <= 138
        assert stored.evaluation_rows.max() < 138
    assert pruner._stores[0] == tmp_path / "runs"
    assert pruner.attribution_.dense() == pytest.approx(by_loops_of_times(pruner), abs=1e-5)
    pruner.update(X[140:], y[140:])
    pruner.forget(np.arange(139, 150))
    assert pruner.split_.n_rows == 165
    assert pruner.attribution_.dense() == pytest.approx(by_loops_of_times(pruner), abs=1e-5)


def test_a_store_at_an_address_grows_and_forgets_too(rows):
    import fsspec

    X, y = rows
    address = "memory://growing/runs"
    pruner = CDVM("ridge", **QUICK | {"n_models": 60}, store=address).fit(X[:100], y[:100])
    pruner.update(X[100:140], y[100:140]).forget([7, 120])
    assert pruner._stores == (address, f"{address}/change-1", f"{address}/change-2")
    for outcomes, place in zip(pruner.evidence_, pruner._stores, strict=True):
        assert (Outcomes.load(place).data == outcomes.data).all()
    files = [name for name in fsspec.filesystem("memory").find("/growing/runs") if name.endswith(".npy")]
    assert sum(int(name.split("/")[-1][9:17]) - int(name.split("/")[-1][:8]) for name in files) == sum(
        outcomes.n_models for outcomes in pruner.evidence_
    )
    fsspec.filesystem("memory").rm("/growing", recursive=True)


def by_loops_of_times(pruner):
    """As :func:`by_loops`, with models of one time together."""
    from dataclasses import replace
    from types import SimpleNamespace

    times = {}
    for o in pruner.evidence_:
        design = replace(o.design, seed=0, gone=(), n_rows=10**6)
        times.setdefault((design, o.n_evaluation), []).append(o)
    joined = []
    for some in times.values():
        members = np.concatenate([o.design.take(o.models).members.toarray() for o in some])
        values = np.concatenate([o.values() for o in some])
        subsets = SimpleNamespace(members=SimpleNamespace(toarray=lambda members=members: members))
        joined.append(
            SimpleNamespace(
                design=SimpleNamespace(take=lambda _, subsets=subsets: subsets),
                models=None,
                values=lambda values=values: values,
                evaluation_rows=some[0].evaluation_rows,
            )
        )
    return by_loops(SimpleNamespace(split_=pruner.split_, evidence_=joined))


def test_a_sample_of_evaluation_rows_stays_one(rows):
    X, y = rows
    split = Split.from_arrays(X[:140], y[:140], validation="out_of_bag").out_of_bag(range(0, 140, 2))
    pruner = CDVM("ridge", **QUICK | {"n_models": 150}).fit_split(split)
    pruner.update(X[140:], y[140:])
    asked = pruner.split_.evaluation_rows
    assert asked[:70].tolist() == list(range(0, 140, 2))
    assert len(asked) == 70 + 19  # half of 38 new rows
    assert (np.diff(asked) > 0).all()
    pruner.forget([3, 4, int(asked[-1])])
    left = np.setdiff1d(asked, [4, asked[-1]])
    assert pruner.split_.evaluation_rows.tolist() == (left - (left > 3) - (left > 4)).tolist()
    assert pruner.attribution_.dense() == pytest.approx(by_loops_of_times(pruner), abs=1e-5)


def test_targets_and_sparse_features():
    X, y = load_diabetes(return_X_y=True)
    pruner = CDVM("ridge_regression", **QUICK | {"n_models": 80}).fit(sparse.csr_array(X[:100]), y[:100])
    pruner.update(sparse.csr_array(X[100:120]), y[100:120]).forget([5, 110])
    assert sparse.issparse(pruner.split_.X)
    assert pruner.split_.y.tolist() == np.delete(y[:120], [5, 110]).tolist()
    scaled = StandardScaler(with_mean=False).fit(X[:100]).transform(X[:120])
    assert pruner.split_.X.toarray() == pytest.approx(np.delete(scaled, [5, 110], axis=0))
    T = by_loops_of_times(pruner)
    assert pruner.attribution_.dense() == pytest.approx(T, abs=1e-4 * np.abs(T).max())


def test_forgetting_by_label_and_without_models(rows):
    frame = pd.DataFrame(rows[0], index=[f"bottle {k}" for k in range(178)])
    pruner = CDVM("ridge", attribution="similarity", random_state=0, n_jobs=1).fit(frame, rows[1])
    pruner.forget(["bottle 3"]).update(frame[:1].rename(index=str.upper), rows[1][:1])
    assert pruner.attribution_.shape == (178, 178)
    assert pruner.split_.index[[2, 3, -1]].tolist() == ["bottle 2", "bottle 4", "BOTTLE 0"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p, X, y: p.update(X), "y_new is missing"),
        (lambda p, X, y: p.update(X[:, :3], y), "X_new has 3 features but X has 13"),
        (
            lambda p, X, y: p.update(X, y.astype(str)),
            "y_new has the label '0' and y labels like 0: pass labels",
        ),
        (lambda p, X, y: p.update(X, y[:2]), "X_new has 28 rows and y_new 2 labels"),
        (lambda p, X, y: p.update(X, y, n_models=1), "n_models=1"),
        (lambda p, X, y: p.forget([]), "rows names no row"),
        (lambda p, X, y: p.forget([150]), "rows names a row outside 0..149"),
        (lambda p, X, y: p.forget(np.flatnonzero(p.split_.y == 0)), "no row with label .*0.* would be left"),
        (lambda p, X, y: p.forget(np.arange(148)), "no row with label"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(rows, fitted, call, words):
    pruner = pickle.loads(fitted)
    with pytest.raises(InputError, match=words):
        call(pruner, rows[0][150:], rows[1][150:])
    assert pruner.split_.n_rows == 150
    assert len(pruner.evidence_) == 1


@pytest.mark.parametrize("validation", ["out_of_bag", "holdout"])
@pytest.mark.parametrize("new", ["a", "m", "z"])  # before, between and after the others
def test_new_rows_may_have_a_class_of_their_own(rows, new, validation):
    X, y = rows[0], np.array(["f", new, "s"])[rows[1]]
    first = np.flatnonzero(y != new)
    settings = QUICK | {"n_models": 900, "validation": validation}
    pruner = CDVM("ridge", **settings).fit(X[first], y[first])
    before = pruner.outcomes_.values().mean()
    with pytest.warns(InputWarning, match=f"y_new has labels that y had not: '{new}'$"):
        pruner.update(X[y == new], y[y == new])
    assert pruner.classes_.tolist() == sorted({"f", "s", new})
    table = np.concatenate([y[first], y[y == new]])
    assert pruner.classes_[pruner.split_.y].tolist() == table[pruner.split_.rows].tolist()
    assert pruner.outcomes_.values().mean() == before  # what was trained stays
    T = pruner.attribution_.dense()
    kept = pruner.select(30)
    assert set(table[kept.indices]) == {"f", "s", new}
    if validation == "holdout":
        held = np.setdiff1d(np.arange(len(first)), pruner.split_.rows)
        assert sorted(pruner.classes_[pruner.split_.y_val]) == sorted(table[held])
    else:  # rows of the class help each other, which only the further models can tell
        own = table == new
        assert T[np.ix_(own, own)].mean() > 2 * np.abs(T[np.ix_(~own, own)].mean())
        assert (pruner.evidence_[1].values()[:, own].mean()) > 0.5


def test_a_new_class_among_labels_that_nobody_knows_is_refused(rows):
    X, y = rows
    known = y[:150] < 2
    with pytest.warns(InputWarning):
        pruner = CDVM("ridge", **QUICK).fit(X[:150][known], y[:150][known], X[150:], y[150:])
    with pytest.raises(
        InputError, match="y_new has the new label 2, and validation or test rows have labels"
    ):
        pruner.update(X[:150][~known], y[:150][~known])


def test_rows_that_are_held_out_are_not_forgotten(rows):
    pruner = CDVM("ridge", **QUICK, validation="holdout").fit(*rows)
    held = np.setdiff1d(np.arange(178), pruner.split_.rows)
    with pytest.raises(InputError, match=f"rows names row {held[0]}, which was held out"):
        pruner.forget(held[:1])
    kept = pruner.split_.rows[10]
    pruner.forget([kept])
    assert pruner.split_.n_table == 177
    assert np.setdiff1d(np.arange(177), pruner.split_.rows).tolist() == (held - (held > kept)).tolist()


def test_refining_begins_with_the_rows_kept_before(rows):
    X, y = rows
    pruner = CDVM("ridge", **QUICK, refine=400).fit(X[:150], y[:150])
    before = pruner.select(15)
    begun = []
    note = {"fits": 50, "callback": lambda fits, kept: begun.append((fits, pruner.split_.rows[kept]))}
    pruner.update(X[150:], y[150:]).set_params(refine=note)

    def first(budget, **given):
        begun.clear()
        assert len(pruner.select(budget, **given)) == budget
        return begun[0][1].tolist()

    assert first(15, start=before) == before.indices.tolist() != first(15)
    more = first(18, start=before)
    assert len(more) == 18
    assert np.isin(before.indices, more).all()
    assert np.isin(first(10, start=before.indices), before.indices).all()
    for given in ({"start": before, "keep": [1]}, {"start": [500]}):
        with pytest.raises(InputError, match="start"):
            pruner.select(15, **given)
    with pytest.raises(InputError, match="start= is where refining begins: use it with CDVM"):
        pruner.set_params(refine=False).select(15, start=before)
