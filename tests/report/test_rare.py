"""Rare classes are never dropped in silence."""

import numpy as np
import pytest

from cdvm import Selection, Split, compare_with_random
from cdvm.report.rare import rare_sentences, tell_classes

OPTIONS = {"draws": 3, "seed": 0, "n_jobs": 1}


def split_of(counts):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.standard_normal((len(y), 3)) + 2.0 * y[:, None]
    return Split.from_arrays(X, np.array(list("abcde"))[y], validation="out_of_bag")


def selection(split, rows):
    return Selection.of_rows(split, np.asarray(rows), method="mine", seconds=0.0)


def test_rows_kept_of_each_class_are_counted_where_one_is_rare():
    split = split_of([90, 60, 10])
    kept = selection(split, [*range(0, 90, 10), *range(90, 100), 155])
    (told,) = tell_classes(split, "ridge", [kept], metric="accuracy", **OPTIONS)
    assert told["classes"] == {
        "a": {"kept": 9, "rows": 90}, "b": {"kept": 10, "rows": 60}, "c": {"kept": 1, "rows": 10},
    }  # fmt: skip
    (expected,) = compare_with_random(split, "ridge", [kept.rows], metric="balanced_accuracy", **OPTIONS)
    found = told["balanced_accuracy"]["outside"]
    assert found["kept"] == expected["outside"].kept
    (sentence,) = rare_sentences({"budgets": {"x": {"rows": 20, **told}}})
    assert sentence == (
        "Rare classes: the 20 kept rows have 1 of 10 rows of 'c'; balanced accuracy "
        f"{found['kept']:.3f}, random rows {found['random']:.3f}±{found['random_std']:.3f}."
    )
    (alone,) = tell_classes(split, "ridge", [kept], metric="balanced_accuracy", **OPTIONS)
    assert alone.keys() == {"classes"}
    assert list(rare_sentences({"budgets": {"x": {"rows": 20, **alone}}})) == [
        "Rare classes: the 20 kept rows have 1 of 10 rows of 'c'."
    ]


@pytest.mark.parametrize("counts", [[50, 50], [30, 30, 30, 30, 30], [90, 10]])
def test_nothing_is_told_where_no_class_is_rare(counts):
    split = split_of(counts)
    told = tell_classes(
        split, "ridge", [selection(split, range(0, sum(counts), 3))], metric="accuracy", **OPTIONS
    )
    assert told == [{}]
    assert list(rare_sentences({"budgets": {"x": {"rows": 3}}})) == []


def test_of_many_rare_classes_five_are_named():
    classes = {f"c{k}": {"kept": 0, "rows": 1} for k in range(7)} | {"large": {"kept": 9, "rows": 500}}
    (sentence,) = rare_sentences({"budgets": {"x": {"rows": 9, "classes": classes}}})
    assert "0 of 1 rows of 'c4' and so on for 2 more." in sentence
    assert "'c5'" not in sentence
    assert "'large'" not in sentence
