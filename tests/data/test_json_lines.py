"""Tables as they are read and written back."""

import pytest

from cdvm.data.tables import read_table
from cdvm.errors import InputError


@pytest.mark.parametrize(
    ("line", "message"),
    [("[1, 2]", "a list in line 2: each line must be an object"), ("{'a': 1}", "no JSON in line 2")],
)
def test_lines_that_are_no_objects_are_refused(tmp_path, line, message):
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n' + line)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.jsonl")
