from dataclasses import replace
from random import Random

import pytest

from cdvm.errors import StoreError
from soak import files, stores
from soak.cases import record, require_same
from soak.verdicts import Wrong, verdict_of


@pytest.mark.parametrize("kind", [stores.KIND, files.KIND], ids=lambda kind: kind.name)
def test_damage_ends_in_the_same_bits_or_in_one_line(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("soak.stores._FAULTS", 8)
    alone, here = tmp_path / "alone", tmp_path / "here"
    alone.mkdir()
    here.mkdir()
    kind.alone(alone)
    faults = list(kind.strike(Random(0), alone, here))
    assert len(faults) >= 8
    assert [fault for fault in faults if fault.verdict != "ok"] == []


def test_what_must_not_come_of_a_fault_is_seen():
    alone = record(models=range(20))
    other = replace(alone, data=alone.data ^ 1)

    def verdict(check):
        return verdict_of("a fault", check).verdict

    assert verdict(lambda: require_same(alone, alone, where="here")) == "ok"
    assert verdict(lambda: require_same(other, alone, where="here")) == "wrong bits"
    assert verdict(lambda: require_same(alone.first(5), alone, where="here")) == "lost"
    for error, expected in [
        (StoreError("it is damaged: delete it and run again"), "ok"),
        (StoreError("it is damaged"), "silent"),
        (KeyError("data"), "traceback"),
        (Wrong("hang", "no end"), "hang"),
    ]:

        def fail(error=error):
            raise error

        assert verdict(fail) == expected
