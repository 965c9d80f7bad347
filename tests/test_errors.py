import pytest

from cdvm.errors import InputError, StoreError, redacted, unknown_name


def test_a_name_near_to_a_known_one_brings_it_and_others_bring_all():
    near, far = (unknown_name("learner", given, ["ridge", "logistic"]) for given in ("Ridg", "xyz"))
    assert str(near) == "learner='Ridg' is unknown: did you mean 'ridge'? Choose from ridge, logistic"
    assert str(far) == "learner='xyz' is unknown: choose from ridge, logistic"


def test_whoever_catches_value_errors_catches_ours():
    for kind in (InputError, StoreError):
        with pytest.raises(ValueError, match="this"):
            raise kind("this")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("s3://me:pass@host/a and http://you:word@b", "s3://me:***@host/a and http://you:***@b"),
        ("https://:only@host", "https://:***@host"),
        ("tcp://host:8786/a@b", "tcp://host:8786/a@b"),
        ("http://host/a:b@c", "http://host/a:b@c"),
        ("write to me:you@host", "write to me:you@host"),
    ],
)
def test_passwords_in_addresses_are_hidden_and_nothing_else(text, told):
    assert redacted(text) == told
