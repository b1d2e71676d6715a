"""A sheet to draw on: an SVG whose text stays text, in colours for the day or the night."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from torch import Tensor

from mhsa_lib.shapes import AXIS_COLOURS

FONTS = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"
LETTER = 0.54
"""The width of a letter in ems, as wide as the widest of these fonts has it."""


@dataclass(frozen=True)
class Theme:
    """Colours of ink, paper and what lies between; of stages, the row to follow, and heads."""

    ink: str
    quiet: str
    line: str
    paper: str
    accent: str
    lit: str
    heads: tuple[str, str, str]


LIGHT = Theme(
    ink="#1a1a1a",
    quiet="#555b63",
    line="#c9ced6",
    paper="#ffffff",
    accent="#0060a0",
    lit="#ffe9a8",
    heads=("#0072b2", "#b97a00", "#00805d"),
)
DARK = Theme(
    ink="#e8eaed",
    quiet="#a9b1bb",
    line="#4a525c",
    paper="#14181e",
    accent="#7cc4f5",
    lit="#5a4700",
    heads=("#56b4e9", "#e69f00", "#2fbf93"),
)


def numeral(value: float | Tensor) -> str:
    """A number with two decimals, or none where it is whole.

    >>> [numeral(v) for v in (4.0, -0.70710678, 0.998, 0.0)]
    ['4', '−0.71', '1.00', '0']
    """
    value = float(value)
    whole = abs(value - round(value)) < 1e-6
    return (
        (f"{value:.0f}" if whole else f"{value:.2f}").replace("-0.00", "0.00").replace("-", "−")
    )


class Sheet:
    """An SVG in making; its ``number`` remembers where a number comes from."""

    def __init__(self, width: float, theme: Theme, title: str, about: str) -> None:
        self.theme, self.width = theme, width
        self.root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
        ET.SubElement(self.root, "title").text = title
        ET.SubElement(self.root, "desc").text = about
        self.paper = ET.SubElement(self.root, "rect", fill=theme.paper)
        self.here = ET.SubElement(self.root, "g", {"font-family": FONTS, "fill": theme.ink})

    def at(self, x: float, y: float) -> "Sheet":
        """A sheet on the same paper whose 0, 0 lies at a place of this one."""
        moved = object.__new__(Sheet)
        moved.__dict__.update(self.__dict__)
        place = {"transform": f"translate({x:g} {y:g})"}
        moved.here = ET.SubElement(self.here, "g", place)
        return moved

    def add(self, tag: str, text: str = "", **given: object) -> ET.Element:
        """One shape; ``stroke_width=2`` becomes ``stroke-width="2"``."""
        named = {name.rstrip("_").replace("_", "-"): f"{v}" for name, v in given.items()}
        shape = ET.SubElement(self.here, tag, named)
        shape.text = text or None
        return shape

    def write(self, x: float, y: float, text: str, size: float = 12, **given: object) -> None:
        """Words at a place."""
        self.add("text", text, x=round(x, 2), y=round(y, 2), font_size=size, **given)

    def lines(
        self, y: float, text: str, width: float, size: float = 12, **given: object
    ) -> float:
        """Words in as many lines as they take; the y of what comes next."""
        for line in textwrap.wrap(text, int(width / (LETTER * size))):
            self.write(0, y + size, line, size, **given)
            y += 1.35 * size
        return y

    def number(
        self, x: float, y: float, value: float, place: str, size: float = 9.5, **given: object
    ) -> None:
        """A number of a wire, with the place that it has there."""
        middle = {"text_anchor": "middle", "data_place": place}
        said = f"{value:.2f}" if place.startswith("weights") else numeral(value)
        self.write(x, y, said, size, **middle, **given)

    def box(self, x: float, y: float, width: float, height: float, **given: object) -> None:
        """A rectangle."""
        self.add("rect", "", x=round(x, 2), y=round(y, 2), width=width, height=height, **given)

    def matrix(
        self,
        wire: str,
        values: Tensor,
        at: str,
        axes: tuple[str, str],
        cell: tuple[float, float],
        follow: int,
        fill: str | None = None,
    ) -> float:
        """Numbers of a wire, with a colour for each of its axes; a row to follow is lit.

        ``at`` is where the matrix begins in the wire. ``fill`` colours a cell by its number,
        from 0 to 1. The y below it is returned.
        """
        rows, columns = values.shape
        width, height = cell[0] * columns, cell[1] * rows
        self.box(0, follow * cell[1], width, cell[1], fill=self.theme.lit)
        self.box(0, 0, width, height, fill="none", stroke=self.theme.line)
        for i, row in enumerate(values.tolist()):
            for j, value in enumerate(row):
                x, y = cell[0] * (j + 0.5), cell[1] * (i + 0.5) + 3.4
                if fill and value >= 0.01:
                    look = {"fill": fill, "fill_opacity": round(0.55 * value, 3)}
                    self.box(cell[0] * j, cell[1] * i, *cell, **look)
                bold = "bold" if i == follow else "normal"
                size = min(9.5, cell[0] / 3.1)
                self.number(x, y, value, f"{wire} {at}{i} {j}", size, font_weight=bold)
        self.box(-3, 0, 3, height, fill=AXIS_COLOURS[axes[0]])
        self.box(0, -3, width, 3, fill=AXIS_COLOURS[axes[1]])
        shape = f"{axes[0]} {rows} × {axes[1]} {columns}"
        self.write(0, height + 11, shape, 9, fill=self.theme.quiet)
        return height + 12

    def words(self, words: Sequence[str], height: float, follow: int) -> None:
        """Words at the left of a matrix, one for each row."""
        for i, word in enumerate(words):
            look = {"text_anchor": "end", "font_weight": "bold" if i == follow else "normal"}
            self.write(-7, height * (i + 0.5) + 3.8, word, 11, **look)

    def svg(self, height: float, size: tuple[str, str]) -> str:
        """The whole as text: so high in its own units, and so large on paper."""
        self.root.set("viewBox", f"0 0 {self.width:g} {height:g}")
        self.root.set("width", size[0])
        self.root.set("height", size[1])
        self.paper.set("width", f"{self.width:g}")
        self.paper.set("height", f"{height:g}")
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode") + "\n"
