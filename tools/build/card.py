"""Draw the pictures that stand beside links: vendor/vendor/poster/card.png, card-CHAPTER.png.

python -m tools.build.card

1200 by 630, as places where links are shared crop it. The book's has the sentence, its two
endings, and the lines of the running example; a chapter's has its title and its first picture.
"""

import base64
import io
import re
from collections.abc import Iterator
from textwrap import fill

import matplotlib
import nbformat

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image

from mhsa_book import examples
from mhsa_book.plots.style import FAINT, INK, PAPER
from mhsa_book.widgets.sentence_lab.still import draw_sentence
from tools import ROOT
from tools.build.poster import FOLDER

BOOK = "Multi-head attention, live"
SIZE = (1200, 630)
DPI = 150
INCHES = (SIZE[0] / DPI, SIZE[1] / DPI)
NAME = "card.png"


def draw() -> None:
    """The two sentences, each with the lines from its last word, below the name of the book."""
    fig, axes = plt.subplots(2, figsize=INCHES, dpi=DPI)
    fig.set_facecolor(PAPER)
    fig.subplots_adjust(left=0.03, right=0.97, bottom=0.02, top=0.82, hspace=0.02)
    fig.text(0.04, 0.9, BOOK, size=21, weight="bold", va="center", color=INK)
    last = len(examples.SENTENCES[0]) - 1
    for sentence, ax in enumerate(axes):
        draw_sentence(ax, sentence, last, [])


def draw_chapter(title: str, picture: bytes) -> None:
    """A chapter's title, and below it its first picture, as large as it fits."""
    fig = plt.figure(figsize=INCHES, dpi=DPI, facecolor=PAPER)
    fig.text(0.04, 0.95, BOOK, size=10, va="top", color=FAINT)
    fig.text(0.04, 0.88, fill(title, 48), size=18, weight="bold", va="top", color=INK)
    ax = fig.add_axes((0.04, 0.03, 0.92, 0.61))
    ax.imshow(Image.open(io.BytesIO(picture)), interpolation="lanczos")
    ax.set_axis_off()


def title_of(notebook: nbformat.NotebookNode) -> str:
    """The title of a notebook without its marks.

    >>> from nbformat.v4 import new_markdown_cell, new_notebook
    >>> title_of(new_notebook(cells=[new_markdown_cell("# 05 *Attend*: who looks at `k`?")]))
    '05 Attend: who looks at k?'
    """
    return re.sub(r"[*`$]", "", notebook.cells[0].source.splitlines()[0].lstrip("# "))


def first_picture(notebook: nbformat.NotebookNode) -> bytes | None:
    """The first picture that a notebook's cells show."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    for output in outputs:
        if "image/png" in output.get("data", {}):
            return base64.b64decode(output["data"]["image/png"])
    return None


def chapters() -> Iterator[tuple[str, str, bytes]]:
    """The file of a card, the title and the picture, of each notebook that has a picture."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        picture = first_picture(notebook)
        if picture is not None:
            yield f"card-{path.stem}.png", title_of(notebook), picture


def save(name: str) -> int:
    """Write the open figure, close it, and return its bytes."""
    plt.savefig(FOLDER / name, dpi=DPI, metadata={"Software": None})
    plt.close()
    return (FOLDER / name).stat().st_size


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    draw()
    sizes = [save(NAME)]
    for name, title, picture in chapters():
        draw_chapter(title, picture)
        sizes.append(save(name))
    print(f"{len(sizes)} cards, {sum(sizes) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
