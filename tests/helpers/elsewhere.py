"""Run a notebook with its exercises solved, on the CPU or on another device.

`python -m tests.helpers.elsewhere notebook.ipynb twin` runs each cell and prints what went
wrong: an error, a printed line that is not the stored one, an answer that is not right. In the
place of each stub stands its solution.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_code_cell

from mhsa_lib import copying, device
from tests.helpers import twin

SHOWN = re.compile(r"Out\[\d+\]: .*", re.DOTALL)  # what IPython writes of a last expression


PRINTED = re.compile(r'print\(exercises\.solution\("(\w+)"\)\)')
USED = 'from mhsa_book.exercises.solutions import {0}\nexercises.check("{0}", {0})'


def filled(nb: Any) -> list[Any]:
    """The code cells, each stub replaced by its solution, also by one that is only printed.

    >>> from nbformat.v4 import new_markdown_cell, new_notebook
    >>> cells = [new_markdown_cell(":::{exercise-start} A\\n:::"), new_code_cell("a = ...")]
    >>> cells += [new_markdown_cell(":::{exercise-end}\\n:::\\n:::{solution-start} a\\n:::")]
    >>> cells += [new_code_cell("a = 1"), new_markdown_cell(":::{solution-end}\\n:::")]
    >>> [cell.source for cell in filled(new_notebook(cells=cells))]
    ['a = 1', 'a = 1']
    >>> cells[3] = new_code_cell('print(exercises.solution("attend"))')
    >>> print(filled(new_notebook(cells=cells))[0].source)
    from mhsa_book.exercises.solutions import attend
    exercises.check("attend", attend)
    """
    cells: list[Any] = []
    solution: list[Any] = []
    part, place = "text", 0
    for cell in nb.cells:
        if cell.cell_type == "code":
            cells += [cell] if part != "exercise" else []
            solution += [used(cell)] if part == "solution" else []
            continue
        for name, edge in re.findall(r"\{(exercise|solution)-(start|end)\}", cell.source):
            part = name if edge == "start" else "text"
            if (name, edge) == ("exercise", "start"):
                place, solution = len(cells), []
            elif (name, edge) == ("solution", "end"):
                cells[place:place] = solution
    return cells


def used(cell: Any) -> Any:
    """A cell of a solution; for one that prints it, a cell that takes it."""
    printed = PRINTED.fullmatch(cell.source)
    return new_code_cell(USED.format(printed[1]), id=cell.id) if printed else cell


def faults(path: Path) -> Iterator[str]:
    """Run the cells in order and yield what is wrong with each."""
    shell = InteractiveShell.instance()
    for cell in filled(nbformat.read(path, as_version=4)):
        if cell.id == "bootstrap":
            continue
        with capture_output() as out:
            done = shell.run_cell(cell.source)
        error = done.error_before_exec or done.error_in_exec
        if error:
            yield f"{cell.id}: {type(error).__name__}: {str(error)[:300]}"
            continue
        printed = "".join(o.text for o in cell.outputs if o.get("name") == "stdout")
        found = SHOWN.sub("", out.stdout)
        if "nbval-ignore-output" not in cell.metadata.get("tags", []) and found != printed:
            yield f"{cell.id} prints {found!r} and not {printed!r}"
        printed_only = done.result is None
        if "exercises.check(" in cell.source and not (printed_only or done.result):
            yield f"{cell.id}: {done.result!r}"


def main() -> None:
    path, where = sys.argv[1:]
    os.environ |= {"MPLBACKEND": "agg", "HF_DEACTIVATE_ASYNC_LOAD": "1", "HF_HUB_OFFLINE": "1"}
    if where == "twin":
        device.default_device = twin.plug_in
        copying.Tensor = twin.Twin  # a class of its own, which a tensor of a GPU is not
    print(*faults(Path(path)), sep="\n")


if __name__ == "__main__":
    main()
