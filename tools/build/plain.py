"""The plain edition: each notebook as people run it, in ordinary markdown.

Colab, VS Code and JupyterLab know no MyST. `python -m tools.build.plain` (or `make plain`)
writes `_build/plain/NN_name.ipynb`, where boxes are quotations, answers and solutions are
folded, and references are links. Only the notebooks in `notebooks/` are ever edited.
"""

import argparse
import ast
import copy
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_markdown_cell

from tools import ROOT
from tools.build import links
from tools.build.notebooks import SVG, notebooks, tags
from tools.build.plain_text import plain
from tools.build.repository import project

FOLDER = ROOT / "_build" / "plain"
BRANCH = "plain"
"""The branch to which the publishing workflow pushes this edition."""

PRINTED = re.compile(r'print\(exercises\.solution\("\w+"\)\)')
COLAB = "https://colab.research.google.com"
RUN_FIRST = (
    "*Run all cells first: figures and sliders come alive then. Three dots open folded code.*"
)
NOT_COMPARED = "nbval-ignore-output"


def colab(stem: str) -> str:
    """Return the address that opens a notebook in Colab.

    >>> colab("04_split")
    'https://colab.research.google.com/github/mhsa-book/mhsa/blob/plain/04_split.ipynb'
    """
    repository = project()["address"].removeprefix("https://github.com/")
    return f"{COLAB}/github/{repository}/blob/{BRANCH}/{stem}.ipynb"


def edition(nb: Any, stem: str) -> Any:
    """Return the plain edition of one notebook; outputs and their order stay."""
    new = nbformat.v4.new_notebook(metadata=copy.deepcopy(nb.metadata))
    new.metadata.pop("mhsa", None)
    solving = False
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            solving = "{solution-start}" in cell.source.rpartition("{solution-end}")[2] or (
                solving and "{solution-end}" not in cell.source
            )
            if text := plain(cell.source):
                new.cells.append(new_markdown_cell(text, id=cell.id))
        else:
            new.cells += _code(cell, solving)
    new.cells += _siblings(new, stem)
    new.cells[0].source = _headed(new.cells[0].source, stem)
    return new


def _siblings(nb: Any, own: str) -> list[Any]:
    """A last cell that names the notebooks beside this one to which its text leads."""
    text = "".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    page = rf"\({re.escape(links.site())}/notebooks/(\w+)\.html[#)]"
    named = sorted(set(re.findall(page, text)) - {own})
    if not named:
        return []
    listed = ", ".join(f"[{links.pages()[f'notebooks/{n}']}]({n}.ipynb)" for n in named)
    words = f"The chapters named here, as notebooks in this folder: {listed}."
    return [new_markdown_cell(words, id="siblings")]


def _headed(text: str, stem: str) -> str:
    """Put under the title where this notebook can be read and run."""
    title, _, rest = text.partition("\n")
    badge = f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({colab(stem)})"
    page = f"[Read this chapter as a page]({links.site()}/notebooks/{stem}.html)"
    return f"{title}\n\n{badge} {page}\n\n{RUN_FIRST}\n{rest}"


def _code(cell: Any, is_solution: bool) -> list[Any]:
    """A code cell, folded if it was; its figure keeps its alt text, and gets its caption."""
    new = copy.deepcopy(cell)
    new.metadata = nbformat.from_dict({})
    if NOT_COMPARED in tags(cell):
        new.metadata["tags"] = [NOT_COMPARED]
    if is_solution:
        new.source, new.outputs = quietly(new.source), []
        _fold(new, "Solution")
    elif "check" in tags(cell):
        _fold(new, "Check")
    elif tags(cell) & {"hide-input", "remove-input"}:
        _fold(new, "Question" if "widgets.Predict(" in cell.source else "Code of this cell")
    shown = cell.metadata.get("mystnb", {})
    for output in new.outputs:
        if "image/png" in output.get("data", {}):
            output.data.pop(SVG, None)  # as PNG a picture can carry its alt text there
            if "image" in shown:
                output.metadata["image/png"] = {"alt": shown["image"]["alt"]}
    caption = shown.get("figure", {}).get("caption")
    if not caption:
        return [new]
    return [new, new_markdown_cell(f"*{plain(caption)}*", id=f"{cell.id}-caption")]


def quietly(solution: str) -> str:
    r"""Return a solution that says nothing when it is right, and ends in an error when not.

    *Run all* shows what folded cells print. Under an exercise that is still to be done, "Right"
    with its reason would give the answer away.

    >>> print(quietly('a = 2\nexercises.check("two", a)'))
    a = 2
    assert exercises.check("two", a)

    One that only prints what the library has waits for a reader who asks.

    >>> print(quietly('print(exercises.solution("two"))'))
    # To read it, take away the # of the next line and run the cell.
    # print(exercises.solution("two"))
    """
    if PRINTED.fullmatch(solution):
        return f"# To read it, take away the # of the next line and run the cell.\n# {solution}"
    lines, last = solution.splitlines(), ast.parse(solution).body[-1]
    lines[last.lineno - 1] = f"assert {lines[last.lineno - 1]}"
    return "\n".join(lines)


def _fold(cell: Any, title: str) -> None:
    """Hide the code, in JupyterLab and, as a form with a title, in Colab."""
    cell.source = f"# @title {title}\n{cell.source}"
    cell.metadata["cellView"] = "form"
    cell.metadata["jupyter"] = {"source_hidden": True}


def write(folder: Path = FOLDER) -> list[Path]:
    """Write the plain edition of every notebook into an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.ipynb"):
        old.unlink()
    written = []
    for path in notebooks():
        nb = edition(nbformat.read(path, as_version=4), path.stem)
        nbformat.validate(nb)
        nbformat.write(nb, folder / path.name)
        written.append(folder / path.name)
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    written = write(parser.parse_args().folder)
    print(f"{len(written)} notebooks in {written[0].parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
