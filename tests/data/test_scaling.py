import numpy as np
import pytest
from sklearn.svm import SVC

from cdvm import InputError, Split
from cdvm.data.scaling import scaled_for


@pytest.mark.parametrize(
    ("learner", "scale", "scaled"),
    [
        ("SVC", "auto", True),
        (SVC(), "auto", False),
        ("SVC", False, False),
        (SVC(), True, True),
    ],
)
def test_features_are_standardised_for_names_unless_the_user_says_otherwise(frame, learner, scale, scaled):
    split = Split.from_arrays(*frame, random_state=0)
    found = scaled_for(learner, split, scale)
    np.testing.assert_array_equal(found.X, split.standardized().X if scaled else split.X)
    assert found.scaled is scaled


def test_other_words_are_refused(frame):
    with pytest.raises(InputError, match="scale='always': use 'auto', True or False"):
        scaled_for("SVC", Split.from_arrays(*frame), "always")
