"""Positions of tokens in a cache: what a caller gives, whether it continues, and masks.

A mask is a rule about positions, and with padding a token's row in a call is not its position.
So a cache asks masks about the positions that it keeps.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks, masks


def right_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Return the positions of sequences whose padding comes last: (sequence, token).

    Padding is -1. Raises ``ValueError`` for lengths that ``n_tokens`` cannot hold.

    >>> right_padded([3, 1]).tolist()
    [[0, 1, 2], [0, -1, -1]]
    """
    ends, token = _ends(lengths, n_tokens)
    return torch.where(token < ends, token, -1)


def left_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Return the positions of sequences whose padding comes first: (sequence, token).

    Padding is -1. Raises ``ValueError`` for lengths that ``n_tokens`` cannot hold.

    >>> left_padded([3, 1]).tolist()
    [[0, 1, 2], [-1, -1, 0]]
    """
    ends, token = _ends(lengths, n_tokens)
    start = token.numel() - ends
    return torch.where(token >= start, token - start, -1)


def _ends(lengths: Any, n_tokens: int | None) -> tuple[Tensor, Tensor]:
    ends = whole_numbers("lengths", lengths)
    n_tokens = int(ends.max()) if n_tokens is None else n_tokens
    if (ends < 0).any() or (ends > n_tokens).any():
        raise ValueError(
            f"lengths {ends.tolist()} do not fit {n_tokens} tokens; each is 0 to {n_tokens}."
        )
    return ends[:, None], torch.arange(n_tokens, device="cpu")


def whole_numbers(name: str, numbers: Any) -> Tensor:
    """Return whole numbers with at least one axis, on the CPU, where reading them is free.

    >>> whole_numbers("lengths", [1.5])
    Traceback (most recent call last):
    ...
    TypeError: lengths are whole numbers, one for each, not tensor([1.5000]).
    """
    try:
        given = torch.as_tensor(numbers, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} are whole numbers, one for each, not {numbers!r}.") from error
    if given.is_floating_point() or given.dtype is torch.bool or not given.ndim:
        raise TypeError(f"{name} are whole numbers, one for each, not {given!r}.")
    return given.long()


def continuing(
    given: Tensor, ends: list[int], batch: tuple[int, ...], n_tokens: int
) -> Tensor | None:
    """Return the positions given for a call, (sequence, token), if they continue the cache.

    None means that every sequence simply goes on, without padding. Raises ``ValueError`` for
    another number of tokens or sequences, and for a gap or a repetition.

    >>> continuing(torch.tensor([[3, -1]]), ends=[3], batch=(1,), n_tokens=2)
    tensor([[ 3, -1]])
    >>> continuing(torch.tensor([[3, 4]]), ends=[3], batch=(1,), n_tokens=2) is None
    True
    """
    shape = (*batch, n_tokens)
    fits = given.ndim <= len(shape) and given.shape[-1] == n_tokens
    leading = zip(reversed(given.shape[:-1]), reversed(batch), strict=False)
    if not fits or any(size not in (1, room) for size, room in leading):
        raise ValueError(
            f"positions {tuple(given.shape)} were given, but x has {shape} tokens; give one "
            f"position for every token, -1 for padding."
        )
    if 0 in batch:
        return None
    given = given.expand(shape).reshape(len(ends), n_tokens)
    padded = False
    for row, end in zip(given.tolist(), ends, strict=True):
        real = [position for position in row if position != -1]
        padded |= len(real) < len(row)
        if real != list(range(end, end + len(real))):
            raise ValueError(
                f"positions {row} do not continue a sequence of {end} tokens; its next "
                f"positions are {end}, {end + 1}, …, and -1 marks padding."
            )
    return given if padded else None


def same_sequences(
    kept: tuple[int, ...], place: Any, batch: tuple[int, ...], device: torch.device
) -> None:
    """Refuse a call on other sequences, or on another device, than the cache holds.

    >>> cpu = torch.device("cpu")
    >>> same_sequences((2,), cpu, (3,), cpu)
    Traceback (most recent call last):
    ...
    ValueError: the cache holds sequences of batch (2,), but x has (3,); go on with the same ...
    """
    if batch != kept:
        raise ValueError(
            f"the cache holds sequences of batch {kept}, but x has {batch}; go on with the "
            f"same batch, or start another cache."
        )
    if device != place:
        raise ValueError(
            f"the cache is on {place}, but x is on {device}; move x, or start another cache "
            f"there."
        )


def checked_order(order: Any, sequences: tuple[int, ...]) -> Tensor:
    """Return which sequence each new one continues, or raise ``ValueError``.

    >>> checked_order([1, 1, 0], (2,))
    tensor([1, 1, 0])
    """
    order = whole_numbers("order", order)
    if len(sequences) != 1 or order.ndim != 1:
        raise ValueError(
            f"order {tuple(order.shape)} cannot reorder leading axes {sequences}; both need "
            f"exactly one: flatten those of x, and pass one number for every sequence."
        )
    (n,) = sequences
    if not n:
        raise ValueError("the cache is empty, there is nothing to reorder; make a call first.")
    if not len(order) or order.min() < 0 or order.max() >= n:
        raise ValueError(
            f"order {order.tolist()} does not choose from {n} sequences; name one or more, "
            f"each 0 to {n - 1}."
        )
    return order


def masked_by_position(
    mask: Any, query: Tensor, key: Tensor, batch: tuple[int, ...], n_heads: int
) -> Tensor:
    """Return a mask as a tensor, asked about positions ``(*batch, token)`` of queries and keys.

    A predicate is a rule about positions; in a boolean tensor the keys are those positions in
    order. Padding, at positions below 0, attends to nothing and nothing attends to it.

    >>> query, key = torch.tensor([[2]]), torch.tensor([[3, 1, 2]])
    >>> masked_by_position(masks.causal, query, key, (1,), n_heads=1)
    tensor([[[[False,  True,  True]]]])
    """
    shape = (*batch, n_heads, query.shape[-1], key.shape[-1])
    query, key = query[..., None, :, None], key[..., None, None, :]
    allowed = (query >= 0) & (key >= 0)
    if isinstance(mask, masks.Predicate):
        return allowed & mask(query, key)
    mask = masks.resolve(mask, shape, allowed.device)
    return allowed if mask is None else allowed & mask


def within_window(mask: Any, rule: masks.Predicate) -> Any:
    """Return the mask of a call to a cache that keeps what ``rule``, a window, reaches.

    No query sees further than the window: otherwise the numbers would depend on how a text is
    divided into calls. Raises ``TypeError`` for a tensor, because in a ring a slot has no
    position of its own.

    >>> within_window(masks.causal, masks.sliding_window(2))
    sliding_window(2)
    """
    if mask is None or mask is rule:
        return rule
    if isinstance(mask, masks.Predicate):
        return rule if mask in (masks.causal, rule) else mask & rule
    checks.boolean(mask)
    raise TypeError(
        "mask is a tensor, but under a window no slot has a position of its own; "
        "pass a predicate of mhsa_lib.masks."
    )
