from cdvm.benchmark.methods import get_method
from cdvm.benchmark.presets import PRESETS


def test_presets_name_known_methods():
    for preset in PRESETS.values():
        for name in preset.methods:
            assert get_method(name).name == name
