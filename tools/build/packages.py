"""The map of both packages, ``book/packages.svg``: layers and subpackages as in the contracts.

python -m tools.build.packages

Layers are the comments of the contracts "mhsa_lib" and "mhsa_book" in pyproject.toml. What a
subpackage says of itself is its docstring's first sentence.
"""

import ast
import re
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from tools import PACKAGES, ROOT

FILE = ROOT / "book" / "packages.svg"
WIDTH, LABEL, GAP = 100.0, 19.0, 0.8
TITLE, LINE, PAD = 2.2, 1.3, 0.8  # height of a name, of a line of text, and around both
LETTERS = 1.66  # fit into a unit of width
MOST = 4  # subpackages side by side
Layer = tuple[str, list[list[str]]]


def layers(text: str, package: str) -> list[Layer]:
    r"""Number, name and rows of subpackages of every layer of a package, the highest first.

    >>> layers('id = "p"\nlayers = [\n  # 1 core: words\n  "a | b",\n]', "p")
    [('1 core: words', [['p.a', 'p.b']])]
    """
    contract = text.partition(f'id = "{package}"')[2]
    lines = contract.partition("layers = [")[2].partition("\n]")[0].strip().splitlines()
    found = []
    for comment, line in zip(lines[::2], lines[1::2], strict=True):
        names = [f"{package}.{name}" for name in re.findall(r"\w+", line)]
        rows = [names[i : i + MOST] for i in range(0, len(names), MOST)]
        found.append((comment.strip("# "), rows))
    return found


def sentence(name: str) -> str:
    """What a subpackage, or a module of the root, says of itself first."""
    folder = ROOT / name.replace(".", "/")
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.split(r"[.:]+\s*(?:\n|$)", said.replace("``", ""))[0]


def draw(plan: list[Layer]) -> None:
    """Draw all layers as one matplotlib figure."""
    height = sum(_height(names) + GAP for _, rows in plan for names in rows) + GAP * len(plan)
    figure, axes = plt.subplots(figsize=(10, height / 10))
    top = height
    for name, rows in plan:
        bottom = top - sum(_height(names) + GAP for names in rows) - GAP
        axes.add_patch(
            plt.Rectangle((0, bottom), WIDTH, top - bottom, fc="#eef2f7", ec="white")
        )
        words = "\n".join(textwrap.wrap(name, 21))
        axes.text(1, (top + bottom) / 2, words, va="center", size=9, weight="bold")
        for names in rows:
            top -= _height(names) + GAP
            _row(axes, names, top)
        top = bottom
    axes.set(xlim=(0, WIDTH), ylim=(0, height))
    axes.axis("off")
    figure.subplots_adjust(0, 0, 1, 1)


def _said(name: str, width: float) -> list[str]:
    return textwrap.wrap(sentence(name), int(LETTERS * (width - 2)))


def _width(names: list[str]) -> float:
    return (WIDTH - LABEL) / len(names)


def _height(names: list[str]) -> float:
    lines = max(len(_said(name, _width(names))) for name in names)
    return TITLE + LINE * lines + 2 * PAD


def _row(axes: Axes, names: list[str], bottom: float) -> None:
    width, height = _width(names), _height(names)
    for i, name in enumerate(names):
        left = LABEL + i * width
        box = plt.Rectangle(
            (left, bottom), width - GAP, height, fc="white", ec="#5b6b82", lw=0.8
        )
        axes.add_patch(box)
        top, said = bottom + height - PAD, "\n".join(_said(name, width))
        axes.text(left + PAD, top, name, va="top", size=9, weight="bold")
        axes.text(left + PAD, top - TITLE, said, va="top", size=7.5)


def save(file: Path) -> None:
    """Write the picture; the same contracts give the same bytes."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    plan = [layer for package in reversed(PACKAGES) for layer in layers(text, package)]
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "packages"}):
        draw(plan)
        plt.savefig(file, metadata={"Date": None}, facecolor="white")
        plt.close()


if __name__ == "__main__":
    save(FILE)
