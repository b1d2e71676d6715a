"""Print how long things are: chapters, and the packages of the library. Nothing is limited.

python -m tools.check.figures
"""

import io
import re
import sys
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import Any

import nbformat

from tools import ROOT
from tools.build.dependencies import PACKAGES
from tools.build.notebooks import code_cells, notebooks, tags

HIDDEN = {"remove-cell", "remove-input", "hide-cell", "hide-input"}
WORDS_A_MINUTE = 220
"""Of prose alone: formulas, figures, cells and exercises take their time as well."""


def words(nb: Any) -> int:
    return sum(len(cell.source.split()) for cell in nb.cells if cell.cell_type == "markdown")


def visible(nb: Any) -> list[int]:
    """Return the number of lines of every code cell that a reader sees."""
    cells = [cell for cell in code_cells(nb) if not tags(cell) & HIDDEN]
    return [len([line for line in c.source.splitlines() if line.strip()]) for c in cells]


def chapter(path: Path) -> str:
    """Return a row for one notebook."""
    nb = nbformat.read(path, as_version=4)
    n_words, lengths = words(nb), visible(nb)
    at_least, longest = n_words / WORDS_A_MINUTE, max(lengths, default=0)
    row = f"{path.stem:32}{n_words:7,}{at_least:7.0f}"
    return f"{row}{len(lengths):7}{longest:7}"


def comments(text: str) -> int:
    r"""Return the number of lines with a comment, directives for tools left out.

    >>> comments("x = 1  # because\n# two\ny = 2  # noqa: E501\n")
    2
    """
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    said = [token.string for token in found if token.type == tokenize.COMMENT]
    return sum(not re.match(r"#\s*(noqa|type:|fmt:|pragma|mypy:)", each) for each in said)


def packages(root: Path = ROOT) -> list[str]:
    """Return a row for each package: files, lines, comments in a hundred lines."""
    texts = defaultdict[str, list[str]](list)
    for top in PACKAGES:
        for file in sorted((root / top).rglob("*.py")):
            inside = file.relative_to(root).parent.parts[:2]
            text = file.read_text(encoding="utf-8")
            texts[top].append(text)
            texts[".".join(inside) if len(inside) > 1 else f"{top} (root)"].append(text)
    rows = []
    for name in sorted(texts):
        lines = sum(len(text.splitlines()) for text in texts[name])
        share = 100 * sum(map(comments, texts[name])) / max(lines, 1)
        rows.append(f"{name:32}{len(texts[name]):7}{lines:8,}{share:7.1f}")
    return rows


def main() -> int:
    header = f"{'words':>7}{'min ≥':>7}{'cells':>7}{'longest':>8}"
    print(f"{'chapter':32}{header}", *map(chapter, notebooks()), sep="\n")
    header = f"{'files':>7}{'lines':>8}  comments in 100 lines"
    print(f"\n{'package':32}{header}", *packages(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
