"""The audit counts what nbval compares, and refuses a notebook that proves nothing."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.build import notebooks
from tools.check import audit

MINIMUM = audit.minimum()


def printed(text, **cell):
    """Return an executed cell that printed a text."""
    output = new_output("stream", text=text)
    return new_code_cell("print()", execution_count=1, outputs=[output], **cell)


def shown(data, **cell):
    """Return an executed cell that displayed something."""
    output = new_output("display_data", data=data)
    return new_code_cell("show()", execution_count=1, outputs=[output], **cell)


def row_of(tmp_path, *cells):
    path = tmp_path / "some.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Why?"), *cells]), path)
    return audit.audit(path)


def test_the_threshold_is_the_one_promised():
    assert MINIMUM >= 0.70


def test_every_notebook_is_compared_enough(notebook):
    row = audit.count("it", notebook)
    assert row.complaints(MINIMUM) == []


def test_the_rows_of_all_notebooks(capsys):
    rows = [audit.audit(path) for path in notebooks.notebooks()]
    with capsys.disabled():
        print(f"\n{audit.as_text(rows)}")
    assert rows


def test_a_stripped_notebook_fails(tmp_path):
    row = row_of(tmp_path, new_code_cell("print(1)"), new_code_cell("print(2)"))
    assert row.complaints(MINIMUM) == [
        "some: 2 cells were never executed",
        "some: 0% compared, less than 70%",
    ]


def test_a_notebook_with_one_stripped_cell_fails(tmp_path):
    row = row_of(tmp_path, printed("1"), new_code_cell("print(2)"))
    assert row.complaints(MINIMUM) == ["some: 1 cells were never executed"]


@pytest.mark.parametrize(
    "data",
    [
        {"image/png": "iVBO", "text/plain": "<Figure size 640x480 with 1 Axes>"},
        {"image/svg+xml": "<svg><g/></svg>", "image/png": "iVBO", "text/plain": "<Figure>"},
        {"text/plain": "<Axes: title={'center': 'x'}>"},
        {"text/plain": "[<matplotlib.lines.Line2D at 0x7f0000000000>]"},
    ],
)
def test_a_picture_or_a_bare_object_is_not_compared(tmp_path, data):
    row = row_of(tmp_path, shown(data))
    assert (row.bearing, row.compared) == (1, 0)


def test_text_tables_and_drawings_in_text_are_compared(tmp_path):
    row = row_of(
        tmp_path,
        printed("torch.Size([2, 3])"),
        shown({"text/html": "<table></table>", "text/plain": "<Trace>"}),
        shown({"image/svg+xml": "<svg><g/></svg>", "text/plain": "<Figure>"}),
    )
    assert (row.bearing, row.compared) == (3, 3)


def test_excused_cells_count_against_the_share(tmp_path):
    excused = printed("0.1 s", metadata={"tags": ["nbval-ignore-output"]})
    silent = new_code_cell("x = 1", execution_count=1)
    row = row_of(tmp_path, printed("1"), printed("2"), printed("3"), excused, silent)
    assert (row.ignored, row.bearing, row.compared, row.share) == (1, 4, 3, 0.75)


def test_the_table_of_the_book_holds_the_numbers_of_the_terminal(tmp_path):
    row = row_of(tmp_path, printed("1"), shown({"image/png": "iVBO"}))
    text, table = audit.as_text([row]), audit.as_markdown([row])
    assert "{doc}`Why? </notebooks/some>`" in table
    assert text.splitlines()[1].split()[1:] == ["2", "2", "0", "2", "1", "50%"]
    assert table.splitlines()[2].split(" | ")[1:] == ["2", "2", "0", "2", "1", "50% |"]
