"""Write what figures load on request beside the pages: vendor/vendor/assets.

python -m tools.build.assets

Jupyter Book copies the contents of ``vendor`` beside the pages. What stands there and is no
asset of this state of the library is removed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from mhsa_book.widgets.assets import Asset
from mhsa_book.widgets.language_model_lab import weights as smollm2
from mhsa_book.widgets.own_sentence import quantise as minilm
from mhsa_book.widgets.translator_lab import weights as translator
from tools.build.vendor import VENDOR

ASSETS: tuple[Callable[[], Asset], ...] = (
    translator.asset,
    minilm.asset,
    smollm2.engine,
    smollm2.asset,
)
FOLDER = VENDOR / "assets"


def write(
    folder: Path = FOLDER, assets: Sequence[Callable[[], Asset]] = ASSETS
) -> dict[str, int]:
    """Write the files of assets into a folder, and nothing else; their names and sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes: dict[str, int] = {}
    for asset in assets:
        for name, content in asset().files():
            (folder / name).write_bytes(content)
            sizes[name] = len(content)
    for old in folder.iterdir():
        if old.name not in sizes:
            old.unlink()
    return sizes


if __name__ == "__main__":
    sizes: dict[str, list[int]] = {}
    for name, size in write().items():
        sizes.setdefault(name.partition(".")[0], []).append(size)
    for key, parts in sizes.items():
        print(f"{key}: {sum(parts) / 1e6:.2f} MB in {len(parts)} files")
