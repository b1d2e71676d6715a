"""What figures load on request is written beside the pages, and nothing else stays there."""

import base64
import hashlib
import re

import pytest

from mhsa_book.widgets.language_model_lab import weights as smollm2
from mhsa_book.widgets.translator_lab import weights
from tools.build import assets

TRANSLATOR = (weights.asset,)


@pytest.mark.parametrize(
    "asset", assets.ASSETS, ids=["translator", "minilm", "decoder", "smollm2"]
)
def test_every_part_is_a_script_and_the_sizes_are_those_that_buttons_name(asset, tmp_path):
    made = asset()
    about, data, plain = made.about, b"", b""
    sizes = assets.write(tmp_path / "assets", (lambda: made,))
    scripts = {name: size for name, size in sizes.items() if name.endswith(".js")}
    assert sum(scripts.values()) == about["files"]
    assert max(sizes.values()) <= 16e6
    for part in range(about["parts"]):
        name = f"{about['key']}.{part}"
        text = (tmp_path / "assets" / f"{name}.js").read_text(encoding="ascii")
        key, found = re.fullmatch(r'window\.mhsaAssets\.set\("(.*)","(.*)"\);\n', text).groups()
        assert key == name
        data += base64.b64decode(found)
        if about.get("plain"):
            plain += (tmp_path / "assets" / f"{name}.bin").read_bytes()
    assert data == made.data
    assert plain == (data if about.get("plain") else b"")
    assert len(sizes) == about["parts"] * (2 if plain else 1)


def test_the_language_model_is_described_without_being_read():
    assert smollm2.asset().about == smollm2.about()
    assert hashlib.sha256(smollm2.asset().data).hexdigest().startswith("b179c9523d0e6a0f")


def test_what_an_earlier_state_has_left_is_removed(tmp_path):
    (tmp_path / "translator-00000000.0.js").write_text("old", encoding="ascii")
    names = assets.write(tmp_path, TRANSLATOR)
    assert {file.name for file in tmp_path.iterdir()} == set(names)
    assert assets.write(tmp_path, TRANSLATOR) == names
