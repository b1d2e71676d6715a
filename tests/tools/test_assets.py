"""What figures load on request is written beside the pages, and nothing else stays there."""

import base64
import re

import pytest

from mhsa_book.widgets.translator_lab import weights
from tools.build import assets

TRANSLATOR = (weights.asset,)


@pytest.mark.parametrize("asset", assets.ASSETS, ids=["translator", "minilm"])
def test_every_part_is_a_script_and_the_sizes_are_those_that_buttons_name(asset, tmp_path):
    sizes = assets.write(tmp_path / "assets", (asset,))
    about, data = asset().about, b""
    assert sum(sizes.values()) == about["files"]
    for part in range(about["parts"]):
        name = f"{about['key']}.{part}"
        text = (tmp_path / "assets" / f"{name}.js").read_text(encoding="ascii")
        key, found = re.fullmatch(r'window\.mhsaAssets\.set\("(.*)","(.*)"\);\n', text).groups()
        assert key == name
        data += base64.b64decode(found)
    assert data == asset().data


def test_what_an_earlier_state_has_left_is_removed(tmp_path):
    (tmp_path / "translator-00000000.0.js").write_text("old", encoding="ascii")
    names = assets.write(tmp_path, TRANSLATOR)
    assert {file.name for file in tmp_path.iterdir()} == set(names)
    assert assets.write(tmp_path, TRANSLATOR) == names
