"""A code cell fits on a screen: its lines and their width. Length is printed, not limited."""

from tests.notebooks.test_style import reader_cells, visible_lines

COLUMNS = 96
"""What fits beside the margin of a page; `ruff` holds it, too."""


def test_a_code_cell_fits_on_a_screen(notebook):
    """In the field guide one cell holds a whole case: symptom, repair, both compared."""
    most = 20 if "Guide" in notebook.cells[0].source.splitlines()[0] else 15
    assert max(len(visible_lines(cell)) for cell in reader_cells(notebook)) <= most


def test_a_line_of_code_fits_on_a_screen(notebook):
    lines = [line for cell in reader_cells(notebook) for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > COLUMNS] == []
