"""Write what figures load on request beside the pages: vendor/vendor/assets.

python -m tools.build.assets

Jupyter Book copies the contents of ``vendor`` beside the pages. What stands there and is no
asset of this state of the library is removed.
"""

from collections.abc import Callable
from pathlib import Path

from mhsa_lib.widgets.assets import Asset
from mhsa_lib.widgets.translator_lab import weights
from tools.build.vendor import VENDOR

ASSETS: tuple[Callable[[], Asset], ...] = (weights.asset,)
FOLDER = VENDOR / "assets"


def write(folder: Path = FOLDER) -> dict[str, int]:
    """Write the scripts of all assets into a folder; their names and sizes."""
    scripts = {name: text for asset in ASSETS for name, text in asset().scripts.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name not in scripts:
            old.unlink()
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="ascii", newline="\n")
    return {name: (folder / name).stat().st_size for name in scripts}


if __name__ == "__main__":
    for name, size in write().items():
        print(f"{name}: {size / 1e3:.0f} kB")
