import pytest

from cdvm import InputError
from cdvm.evaluation.curve import Curve


def test_a_curve_has_a_line_for_each_budget_and_a_file(pruner, tmp_path):
    curve = pruner.curve([0.05, 0.5], folds=3)
    frame = curve.to_frame()
    assert frame["fraction"].tolist() == [0.5, 0.05]
    assert frame["score"].between(0.65, 0.8).all()
    assert frame["loss_error"].between(1e-4, 0.05).all()
    assert Curve.load(curve.save(tmp_path / "curve.csv")) == curve
    other = Curve(curve.points[:1], "negative mae")
    assert Curve.load(other.save(tmp_path / "curve.csv")) == other
    (tmp_path / "other.csv").write_text("a,metric\n1,2\n")
    with pytest.raises(InputError, match=r"other.csv is no curve"):
        Curve.load(tmp_path / "other.csv")
