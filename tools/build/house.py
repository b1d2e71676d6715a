"""The house in one picture, ``book/house.svg``: its storeys and rooms as the contracts say.

python -m tools.build.house

Storeys are the comments of the contract "layers" in pyproject.toml, rows are its lines; rooms
in a row do not know each other. What a room says of itself is its docstring's first sentence.
"""

import ast
import re
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from tools import ROOT

FILE = ROOT / "book" / "house.svg"
WIDTH, LABEL, GAP = 100.0, 19.0, 0.8
TITLE, LINE, PAD = 2.2, 1.3, 0.8  # height of a name, of a line of text, and around both
LETTERS = 1.72  # fit into a unit of width
Storey = tuple[str, list[list[str]]]


def storeys(text: str) -> list[Storey]:
    r"""Number, name and rows of rooms of every storey, the highest first.

    >>> storeys('id = "layers"\nlayers = [\n  # 1 core: words\n  "a | b",\n  "c",\n]')
    [('1 core: words', [['a', 'b'], ['c']])]
    """
    contract = text.partition('id = "layers"')[2].partition("layers = [")[2].partition("\n]")[0]
    found: list[Storey] = []
    for line in contract.strip().splitlines():
        if name := re.match(r"\s*# (.*)", line):
            found.append((name[1], []))
        else:
            found[-1][1].append(re.findall(r"\w+", line))
    return found


def sentence(room: str) -> str:
    """What a room, or a module of the root, says of itself first."""
    folder = ROOT / "mhsa_lib" / room
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.split(r"[.:]+\s*(?:\n|$)", said.replace("``", ""))[0]


def draw(plan: list[Storey]) -> None:
    """Draw all storeys as one matplotlib figure."""
    height = sum(_height(rooms) + GAP for _, rows in plan for rooms in rows) + GAP * len(plan)
    figure, axes = plt.subplots(figsize=(10, height / 10))
    top = height
    for name, rows in plan:
        bottom = top - sum(_height(rooms) + GAP for rooms in rows) - GAP
        axes.add_patch(
            plt.Rectangle((0, bottom), WIDTH, top - bottom, fc="#eef2f7", ec="white")
        )
        words = "\n".join(textwrap.wrap(name, 21))
        axes.text(1, (top + bottom) / 2, words, va="center", size=9, weight="bold")
        for rooms in rows:
            top -= _height(rooms) + GAP
            _row(axes, rooms, top)
        top = bottom
    axes.set(xlim=(0, WIDTH), ylim=(0, height))
    axes.axis("off")
    figure.subplots_adjust(0, 0, 1, 1)


def _said(room: str, width: float) -> list[str]:
    return textwrap.wrap(sentence(room), int(LETTERS * (width - 2)))


def _width(rooms: list[str]) -> float:
    return (WIDTH - LABEL) / len(rooms)


def _height(rooms: list[str]) -> float:
    lines = max(len(_said(room, _width(rooms))) for room in rooms)
    return TITLE + LINE * lines + 2 * PAD


def _row(axes: Axes, rooms: list[str], bottom: float) -> None:
    width, height = _width(rooms), _height(rooms)
    for i, room in enumerate(rooms):
        left = LABEL + i * width
        box = plt.Rectangle(
            (left, bottom), width - GAP, height, fc="white", ec="#5b6b82", lw=0.8
        )
        axes.add_patch(box)
        top, said = bottom + height - PAD, "\n".join(_said(room, width))
        axes.text(left + PAD, top, room, va="top", size=9, weight="bold")
        axes.text(left + PAD, top - TITLE, said, va="top", size=7.5)


def save(file: Path) -> None:
    """Write the picture; the same contracts give the same bytes."""
    plan = storeys((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "house"}):
        draw(plan)
        plt.savefig(file, metadata={"Date": None}, facecolor="white")
        plt.close()


if __name__ == "__main__":
    save(FILE)
