"""Positions of tokens in a cache: what a caller gives, and what is in the slots.

With padding a token's row in a call is not its position, and in a ring neither is its slot.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks


def right_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Return the positions of sequences whose padding comes last: (sequence, token).

    Padding is -1. Raises ``ValueError`` for lengths that ``n_tokens`` cannot hold.

    >>> right_padded([3, 1]).tolist()
    [[0, 1, 2], [0, -1, -1]]
    """
    ends, token = _ends(lengths, n_tokens)
    return torch.where(token < ends, token, -1)


def left_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Return the positions of sequences whose padding comes first, as ``right_padded`` does.

    >>> left_padded([3, 1]).tolist()
    [[0, 1, 2], [-1, -1, 0]]
    """
    ends, token = _ends(lengths, n_tokens)
    return (token - len(token) + ends).clamp(min=-1)


def _ends(lengths: Any, n_tokens: int | None) -> tuple[Tensor, Tensor]:
    ends = whole_numbers("lengths", lengths, "[3, 1]")
    n_tokens = int(ends.max()) if n_tokens is None else n_tokens
    if (ends < 0).any() or (ends > n_tokens).any():
        raise ValueError(
            f"lengths {ends.tolist()} do not fit {n_tokens} tokens; each is 0 to {n_tokens}."
        )
    return ends[:, None], torch.arange(n_tokens, device="cpu")


def whole_numbers(name: str, numbers: Any, example: str) -> Tensor:
    """Return whole numbers on the CPU, where reading them waits for no device.

    >>> whole_numbers("order", (1, 0), "[0, 1]")
    tensor([1, 0])
    """
    return checks.whole_numbers(name, "one for each", numbers, example).cpu().long()


def continuing(
    given: Tensor, ends: list[int], batch: tuple[int, ...], n_tokens: int
) -> Tensor | None:
    """Return the positions given for a call, (sequence, token), if they continue the cache.

    None means that every sequence simply goes on, without padding. Raises ``ValueError`` for
    another number of tokens or sequences, and for a gap or a repetition.

    >>> continuing(torch.tensor([[3, -1]]), ends=[3], batch=(1,), n_tokens=2)
    tensor([[ 3, -1]])
    """
    shape = (*batch, n_tokens)
    try:
        rows = given.expand(shape).reshape(-1, n_tokens)
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
    """The position that each of the first slots holds, (sequence, slot); below 0 for none.

    Of the positions that share a slot, p mod n_slots, it is the last before the end.

    >>> slot_positions([5, 2], n_slots=3, n_used=3, device="cpu").tolist()
    [[3, 4, 2], [0, 1, -1]]
    """
    last = torch.tensor(ends, device=device)[:, None] - 1
    return last - (last - torch.arange(n_used, device=device)) % n_slots
