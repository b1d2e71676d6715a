"""Rows of the running example as text, so that a chapter's cells hold no formatting."""

from collections.abc import Sequence

from torch import Tensor

from mhsa_book.examples.words import KINDS


def say(name: str, row: Tensor, columns: Sequence[str] = KINDS[:7]) -> None:
    """Print what a row says, by the names of its columns; entries near 0 are left out.

    >>> from mhsa_book.examples import meanings
    >>> say("tired", meanings(["tired"])[0])
       tired: living 1.00, quality 1.00
    """
    entries = zip(columns, row.tolist(), strict=False)
    print(f"{name:>8}:", ", ".join(f"{c} {n:.2f}" for c, n in entries if abs(n) > 0.05))


def show_rows(names: Sequence[str], digits: int = 0, **tables: Tensor) -> None:
    """Print tables side by side, a line for each name; a table is (name, column), or (name,).

    Raises ``ValueError`` where a table has not one row for each name.

    >>> import torch
    >>> show_rows(["the", "animal"], q=torch.tensor([[0, 4], [4.0, 0]]), weight=torch.ones(2))
                   q    weight
       the        0    4         1
    animal        4    0         1
    """
    blocks = {name: _block(name, table, len(names), digits) for name, table in tables.items()}
    left = max(map(len, names))
    widths = {name: max(len(name), len(lines[0])) for name, lines in blocks.items()}
    print(" " * left, *(f"{name:>{widths[name]}}" for name in blocks), sep="    ")
    for i, name in enumerate(names):
        cells = [f"{lines[i]:>{widths[block]}}" for block, lines in blocks.items()]
        print(f"{name:>{left}}", *cells, sep="    ")


def _block(name: str, table: Tensor, n: int, digits: int) -> list[str]:
    if table.ndim not in (1, 2) or len(table) != n:
        raise ValueError(
            f"{name} {tuple(table.shape)} has not a row for each of {n} names; give (name,) or "
            f"(name, column)."
        )
    rows = table.reshape(n, -1).tolist()
    return ["".join(f"{x + 0.0:{digits + 5}.{digits}f}" for x in row) for row in rows]
