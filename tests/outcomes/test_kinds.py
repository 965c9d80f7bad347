import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm import InputError
from cdvm.outcomes.kinds import classes_beyond, margin_of, outcome_name, score_answers


@given(st.integers(1, 3), st.integers(1, 6), st.integers(2, 4), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_margins_are_the_true_class_less_the_best_other(models, evaluation, classes, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, classes, evaluation)
    scores = rng.normal(size=(models, evaluation, classes))
    before = scores.copy()
    margins = margin_of(codes, scores)
    for model in range(models):
        for row, code in enumerate(codes):
            own = scores[model, row].tolist()
            expected = min(own) - max(own) if code < 0 else own.pop(code) - max(own)
            assert margins[model, row] == pytest.approx(expected)
    assert (scores == before).all()


@pytest.mark.parametrize(
    ("classes", "kind"),
    [(2, np.int8), (127, np.int8), (128, np.int16), (2**15 - 1, np.int16), (2**15, np.int32)],
)
def test_answers_are_told_by_how_far_they_lie_beyond_the_label(classes, kind):
    codes = np.array([0, 1, classes - 1, -1])
    answers = np.array([[0, 1, classes - 1, 0], [classes - 1, 0, 0, classes - 1]])
    beyond = classes_beyond(answers, codes, classes)
    assert beyond.dtype == kind
    # counting on from the label, past the last class to the first; a label never trained on is never right
    assert beyond.tolist() == [[0, 0, 0, 1], [classes - 1, classes - 1, 1, 1]]


def test_squared_errors_are_negative_scores():
    found = score_answers("squared_error", np.array([1.0, -2.0]), np.array([[1.5, -2.0], [0.0, 1.0]]))
    assert found.tolist() == [[-0.25, 0.0], [-1.0, -9.0]]
    assert found.dtype == np.float32


def test_a_function_gets_targets_and_answers():
    y, answers = np.array([1, 2]), np.array([[3.0, 4.0]])
    assert score_answers(lambda y, a: a - 10 * y, y, answers).tolist() == [[-7.0, -16.0]]
    with pytest.raises(InputError, match=r"outcome failed \(ZeroDivisionError: .*targets and answers of"):
        score_answers(lambda y, a: 1 / 0, y, answers)


class _Scorer:
    def __call__(self, y, answers):
        return answers


def test_a_store_knows_an_outcome_by_its_name_and_code(wine):
    assert [outcome_name(kind, wine) for kind in ("correct", "answer", "margin")] == [
        "correct",
        "answer",
        "margin",
    ]
    with pytest.raises(InputError, match="outcome='squared_error' does not fit a classification task"):
        outcome_name("squared_error", wine)
    names = {outcome_name(f, wine) for f in (lambda y, a: a, lambda y, a: a + 1, lambda y, a: a.sum)}
    assert len(names) == 3
    assert outcome_name(_Scorer(), wine) == f"{__name__}._Scorer"
    # what a function inside a function does counts too
    inner = [lambda y, a: [b + 1 for b in a], lambda y, a: [b + 2 for b in a]]
    assert len({outcome_name(f, wine) for f in inner}) == 2


def test_a_function_keeps_its_name_wherever_it_is_defined(wine):
    assert outcome_name(_scores, wine).startswith(f"{__name__}._scores#")
    source = "def f(y, a):\n    def inner(b):\n        return b + 1\n    return inner(a)"
    twice = []
    for _ in range(2):  # as a later run defines it again
        exec(source, made := {"__name__": "mine"})
        twice.append(outcome_name(made["f"], wine))
    assert twice[0] == twice[1]
    assert twice[0].startswith("mine.f#")


def _scores(y, answers):
    return answers
