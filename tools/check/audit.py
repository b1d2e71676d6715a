"""Count, for each notebook, what the tests really compare.

nbval compares a cell only if it was executed, carries no tag that excuses it, and left an
output that nbval reads: a picture, or the bare name of an object (`<Axes: >`), proves nothing.
The same rows are printed by `make test` and shown on the book's page "What was verified".
"""

import argparse
import re
import sys
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import nbformat
import tomllib

from tools import ROOT
from tools.build.notebooks import code_cells, notebooks, tags

NOT_COMPARED = {"image/png", "image/jpeg", "application/vnd.jupyter.widget-view+json"}
BARE_OBJECT = re.compile(r"\[?<[^<>\n]*>\]?")


@dataclass(frozen=True)
class Row:
    """What happened to the code cells of one notebook."""

    name: str
    title: str
    code: int
    executed: int
    ignored: int  # executed, output excused from comparison
    bearing: int  # cells that left an output
    compared: int  # of these, the ones that nbval compares

    @property
    def share(self) -> float:
        return self.compared / self.bearing if self.bearing else 0.0

    def complaints(self, minimum: float) -> list[str]:
        """Say what is wrong, in words; an empty list means nothing."""
        found = []
        if missing := self.code - self.executed:
            found.append(f"{self.name}: {missing} cells were never executed")
        if self.share < minimum:
            found.append(f"{self.name}: {self.share:.0%} compared, less than {minimum:.0%}")
        return found


def comparable(output: Any) -> bool:
    """Say whether nbval reads something in this output that can be wrong."""
    if output.output_type == "stream":
        return output.name == "stdout" and bool(output.text.strip())
    if output.output_type == "error":
        return True
    texts = {mime: text for mime, text in output.data.items() if mime not in NOT_COMPARED}
    if "image/png" in output.data:
        texts.pop("image/svg+xml", None)  # a picture in two forms: neither is compared
    return any(not BARE_OBJECT.fullmatch(str(text).strip()) for text in texts.values())


def is_compared(cell: Any) -> bool:
    excused = "nbval-ignore-output" in tags(cell)
    return (
        not excused and cell.execution_count is not None and any(map(comparable, cell.outputs))
    )


def count(name: str, nb: Any) -> Row:
    """Count the cells of one notebook."""
    cells = code_cells(nb)
    return Row(
        name=name,
        title=nb.cells[0].source.splitlines()[0].lstrip("# "),
        code=len(cells),
        executed=sum(cell.execution_count is not None for cell in cells),
        ignored=sum("nbval-ignore-output" in tags(cell) for cell in cells),
        bearing=sum(bool(cell.outputs) for cell in cells),
        compared=sum(map(is_compared, cells)),
    )


def audit(path: Path) -> Row:
    """Count the cells of one stored notebook."""
    return count(path.stem, nbformat.read(path, as_version=4))


def minimum() -> float:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return table["tool"]["mhsa"]["min_compared"]


HEADER = ["code cells", "executed", "ignored", "with output", "compared"]


def counts(row: Row) -> list[str]:
    return [*map(str, astuple(row)[2:]), f"{row.share:.0%}"]


def total(rows: list[Row]) -> Row:
    columns = zip(*(astuple(row)[2:] for row in rows), strict=True)
    return Row("all notebooks", "All notebooks", *map(sum, columns))


def as_text(rows: list[Row]) -> str:
    """Return the table for a terminal."""
    lines = [
        ["", *HEADER, "share"],
        *([row.name, *counts(row)] for row in [*rows, total(rows)]),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in lines
    )


def as_markdown(rows: list[Row]) -> str:
    """Return the table for the book."""
    lines = [["Chapter", *HEADER, "share"], ["---", *["--:"] * (len(HEADER) + 1)]]
    lines += [[f"{{doc}}`{row.title} </notebooks/{row.name}>`", *counts(row)] for row in rows]
    lines += [[f"**{cell}**" for cell in ["All notebooks", *counts(total(rows))]]]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\nBelow a share of {minimum():.0%} in any chapter the tests fail.\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="also write the book's table to this file")
    path = parser.parse_args().write
    rows = [audit(notebook) for notebook in notebooks()]
    print(as_text(rows))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_markdown(rows), encoding="utf-8")
    complaints = [line for row in rows for line in row.complaints(minimum())]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return not rows or bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
