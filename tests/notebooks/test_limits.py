"""How long a chapter is: words, cells in view, lines of a cell and columns of a line."""

import re
import statistics

from tests.notebooks.test_style import HIDDEN, markdown, reader_cells, visible_lines
from tools.build.notebooks import tags

COLUMNS = 96
"""What fits beside the margin of a page; `ruff` holds it, too."""


def in_view(cells):
    return [cell for cell in cells if not tags(cell) & HIDDEN]


def before_the_exercises(chapter):
    """Code cells of the text, without those of the exercises."""
    exercises = next(
        place
        for place, cell in enumerate(chapter.cells)
        if cell.cell_type == "markdown"
        and re.search(r"^## Exercises", cell.source, re.MULTILINE)
    )
    text = {cell.id for cell in chapter.cells[:exercises]}
    return [cell for cell in reader_cells(chapter) if cell.id in text]


def test_a_code_cell_fits_on_a_screen(notebook):
    """In the field guide one cell holds a whole case: symptom, repair, both compared."""
    most = 20 if "Guide" in notebook.cells[0].source.splitlines()[0] else 15
    assert max(len(visible_lines(cell)) for cell in reader_cells(notebook)) <= most


def test_a_code_cell_holds_one_idea(chapter):
    """Counted are the cells in view; the code of a quiz is folded."""
    lengths = [len(visible_lines(cell)) for cell in in_view(reader_cells(chapter))]
    assert statistics.median_low(lengths) <= 5
    assert statistics.quantiles(lengths, n=10)[-1] <= 12


def test_a_chapter_can_be_read_in_one_sitting(chapter, say):
    cells, words = reader_cells(chapter), len(markdown(chapter).split())
    shown = in_view(before_the_exercises(chapter))
    widest = max(len(line) for cell in cells for line in cell.source.splitlines())
    title = chapter.cells[0].source.splitlines()[0].lstrip("# ").partition(":")[0]
    row = f"{title:30}{words:6,}{len(shown):6}{len(cells):6}{widest:6}"
    say("Chapters: words, cells in view before the exercises, all cells, widest line", [row])
    assert words <= 3000
    assert len(shown) <= 30
    assert len(cells) <= 36
    assert widest <= COLUMNS
