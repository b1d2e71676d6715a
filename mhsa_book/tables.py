"""Small tables of numbers, printed as a chapter shows them."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def show(rows: Sequence[str], columns: Mapping[str, Any], digits: int = 2) -> None:
    """Print a table with a line for each of ``rows`` and a named column for each number.

    A column holds a number for each row, or a vector for each row, which is printed in square
    brackets. Whole numbers are printed as such, others with ``digits`` decimals. Raises
    ``ValueError`` if a column has another number of rows.

    >>> weights = torch.tensor([0.25, 0.75])
    >>> show(["animal", "tired"], {"key": torch.tensor([[4.0, 0], [0, -4]]), "weight": weights})
                key  weight
    animal   [4, 0]    0.25
    tired   [0, -4]    0.75
    """
    cells = [["", *rows]]
    for name, values in columns.items():
        tensor = torch.as_tensor(values).detach().cpu()
        if tensor.shape[:1] != (len(rows),):
            raise ValueError(
                f"column {name!r} is {tuple(tensor.shape)} for {len(rows)} rows; give one "
                f"number, or one vector, for each row."
            )
        cells.append([name, *_written(tensor, digits)])
    widths = [max(map(len, column)) for column in cells]
    for line in zip(*cells, strict=True):
        first, *others = (
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())


def _written(tensor: Tensor, digits: int) -> list[str]:
    is_whole = not tensor.is_floating_point() or bool((tensor == tensor.round()).all())

    def one(number: Any) -> str:
        if number != number:
            return "NaN"
        text = f"{number:.{0 if is_whole else digits}f}"
        return text.removeprefix("-") if not text.strip("-0.") else text  # no -0.00

    if tensor.ndim == 1:
        return [one(number) for number in tensor.tolist()]
    return [f"[{', '.join(map(one, vector))}]" for vector in tensor.tolist()]
