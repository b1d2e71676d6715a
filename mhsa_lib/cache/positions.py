"""Positions: with padding they are not a token's row in a call, in a ring not its slot."""

from math import prod
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks


def right_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Return the positions of sequences whose padding, -1, comes last: (sequence, token).

    Raises ``ValueError`` for lengths that ``n_tokens``, by default the longest, cannot hold.

    >>> right_padded([3, 1]).tolist()
    [[0, 1, 2], [0, -1, -1]]
    """
    ends = whole_numbers("lengths", lengths)[:, None]
    n_tokens = max(ends.flatten().tolist(), default=0) if n_tokens is None else n_tokens
    if (ends < 0).any() or (ends > n_tokens).any():
        raise ValueError(
            f"lengths {ends.tolist()} do not fit {n_tokens} tokens; each is 0 to {n_tokens}."
        )
    token = torch.arange(n_tokens, device="cpu")
    return torch.where(token < ends, token, -1)


def left_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Return the positions of sequences whose padding comes first, as ``right_padded`` does.

    >>> left_padded([3, 1]).tolist()
    [[0, 1, 2], [-1, -1, 0]]
    """
    return right_padded(lengths, n_tokens).sort(dim=1).values  # -1 comes first


def whole_numbers(name: str, numbers: Any) -> Tensor:
    """Return whole numbers on the CPU, where reading them waits for no device.

    >>> whole_numbers("order", (1, 0))
    tensor([1, 0])
    """
    return checks.whole_numbers(name, "one for each", numbers, "[0, 1]").cpu().long()


def continuing(
    given: Tensor, ends: list[int], batch: tuple[int, ...], n_tokens: int
) -> Tensor | None:
    """Return the positions given for a call, (sequence, token); None if there is no padding.

    Raises ``ValueError`` unless there is one for each token and they continue every sequence.

    >>> continuing(torch.tensor([[3, -1]]), ends=[3], batch=(1,), n_tokens=2)
    tensor([[ 3, -1]])
    """
    shape = (*batch, n_tokens)
    try:
        rows = given.expand(shape).reshape(prod(batch), n_tokens)
    except RuntimeError as error:
        raise ValueError(
            f"positions {tuple(given.shape)} were given, but x has {shape} tokens; give one "
            f"position for every token, -1 for padding."
        ) from error
    for row, end in zip(rows.tolist(), ends, strict=False):
        real = [position for position in row if position != -1]
        if real != list(range(end, end + len(real))):
            raise ValueError(
                f"positions {row} do not continue a sequence of {end} tokens; its next "
                f"positions are {end}, {end + 1}, …, and -1 marks padding."
            )
    return rows if (rows < 0).any() else None


def slot_positions(ends: list[int], n_slots: int, n_used: int, device: Any) -> Tensor:
    """Return the position that each of the first slots holds, (sequence, slot); below 0: none.

    >>> slot_positions([5, 2], n_slots=3, n_used=3, device="cpu").tolist()
    [[3, 4, 2], [0, 1, -1]]
    """
    # Of the positions that share a slot, p mod n_slots, it is the last before the end.
    last = torch.tensor(ends, device=device)[:, None] - 1
    return last - (last - torch.arange(n_used, device=device)) % n_slots
