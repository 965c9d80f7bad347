import pytest

from cdvm.cli.words import in_flags


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("n_models=0: use more", "--models 0: use more"),
        ("random_state='x' is no seed", "--seed x is no seed"),
        ("n_jobs=0; or memory_limit='4GB'", "--jobs 0; or --memory-limit 4GB"),
        ("store='s3://me:secret@b' is lost", "--store 's3://me:***@b' is lost"),
        ("say what fraction= of the labels", "say what --fraction of the labels"),
        ("X has column 'X' and 'y'", "the table has column 'X' and 'y'"),
        (
            "X_val lacks columns of X: 'alpha=3'",
            "the table of --validation lacks columns of the table: 'alpha=3'",
        ),
        ("nothing to say of max=3", "nothing to say of max=3"),
    ],
)
def test_messages_name_flags(message, said):
    assert in_flags(message) == said
