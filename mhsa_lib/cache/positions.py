"""What both caches know about positions: announced ones, padding, room, order, and masks.

Masks are rules about positions, and a token need not lie in the slot of its position; so a
cache asks them about the positions that it keeps.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks, masks


class Announced:
    """Positions that a caller has announced; they wait for the call that succeeds.

    >>> index = Announced()
    >>> index.announce([[0, 1], [-1, 0]])
    >>> index.waits
    True
    """

    _announced: Tensor | None = None

    def announce(self, positions: Any) -> None:
        """Positions (*batch, token) of the next call's tokens; -1 is padding; None: go on."""
        self._announced = None if positions is None else whole_numbers("positions", positions)

    @property
    def waits(self) -> bool:
        """Whether positions are announced for the next call."""
        return self._announced is not None

    def nothing_waits(self) -> None:
        """Refuse what would come between an announcement and its call."""
        if self.waits:
            raise ValueError(
                "an announcement waits for the next call; make that call, or announce(None), "
                "before sequences are reordered."
            )


def whole_numbers(name: str, numbers: Any) -> Tensor:
    """Whole numbers, at least one axis of them, on the CPU, where asking them costs nothing.

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


def continuing(announced: Tensor, start: Tensor, n_tokens: int) -> Tensor:
    """What was announced, for every sequence, if it counts on from where each one ended.

    >>> continuing(torch.tensor([[3, 4]]), torch.tensor([3]), n_tokens=2)
    tensor([[3, 4]])
    """
    shape = (*start.shape, n_tokens)
    fits = announced.ndim <= len(shape) and announced.shape[-1] == n_tokens
    batch = zip(reversed(announced.shape[:-1]), reversed(start.shape), strict=False)
    if not fits or any(size not in (1, room) for size, room in batch):
        raise ValueError(
            f"positions {tuple(announced.shape)} were announced, but x has {shape} tokens; "
            f"announce one position for every token, or None to go on without."
        )
    announced = announced.expand(shape)
    rows = announced.reshape(start.numel(), n_tokens).tolist()
    for row, begin in zip(rows, start.flatten().tolist(), strict=True):
        real = [position for position in row if position != -1]
        if real != list(range(begin, begin + len(real))):
            raise ValueError(
                f"positions {row} do not continue a sequence of {begin} tokens; they go on "
                f"with {begin}, {begin + 1}, …, and -1 marks padding; announce them anew."
            )
    return announced


def same_sequences(
    kept: tuple[int, ...], place: torch.device, batch: tuple[int, ...], device: torch.device
) -> None:
    """A call goes on with the sequences of the cache, on the device where they are kept.

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


def room(length: int | None, taken: int, coming: int) -> None:
    """Room for the tokens that come, behind those that have; None is room without end.

    >>> room(length=4, taken=3, coming=2)
    Traceback (most recent call last):
    ...
    ValueError: the cache has room for 4 tokens of a sequence, 3 have come and 2 more come; ...
    """
    if length is not None and taken + coming > length:
        raise ValueError(
            f"the cache has room for {length} tokens of a sequence, {taken} have come and "
            f"{coming} more come; give it a length of {taken + coming} or more."
        )


def checked_order(order: Any, sequences: tuple[int, ...]) -> Tensor:
    """Which sequence every new one continues, if the cache of that batch holds them all.

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


def asked(
    mask: Any, query: Tensor, key: Tensor, batch: tuple[int, ...], n_heads: int
) -> Tensor:
    """A mask as a tensor, asked about the positions of queries and of keys, (*batch, token).

    A predicate is a rule about positions; a boolean tensor is about slots. Padding, at
    positions below 0, is never looked at and looks at nothing.

    >>> query, key = torch.tensor([[2]]), torch.tensor([[3, 1, 2]])
    >>> asked(masks.causal, query, key, (1,), n_heads=1)
    tensor([[[[False,  True,  True]]]])
    """
    shape = (*batch, n_heads, query.shape[-1], key.shape[-1])
    query, key = query[..., None, :, None], key[..., None, None, :]
    allowed = (query >= 0) & (key >= 0)
    if isinstance(mask, masks.Predicate):
        return allowed & mask(query, key)
    mask = masks.resolve(mask, shape, allowed.device)
    return allowed if mask is None else allowed & mask


def within_window(mask: Any, rule: masks.Predicate | None) -> Any:
    """The mask of a call to a cache that keeps what ``rule``, a window, reaches; None for all.

    Nobody looks further than the window, or the numbers would depend on how a text is cut.

    >>> within_window(masks.causal, masks.sliding_window(2))
    sliding_window(2)
    """
    if rule is None or mask is rule:
        return mask
    if mask is None:
        return rule
    if isinstance(mask, masks.Predicate):
        return rule if mask in (masks.causal, rule) else mask & rule
    checks.boolean(mask)
    raise TypeError(
        "mask is a tensor, but under a window no slot has a position of its own; "
        "pass a predicate of mhsa_lib.masks."
    )


def right_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Positions of sequences whose padding comes last: (sequence, token), padding -1.

    >>> right_padded([3, 1]).tolist()
    [[0, 1, 2], [0, -1, -1]]
    """
    ends, token = _ends(lengths, n_tokens)
    return torch.where(token < ends, token, -1)


def left_padded(lengths: Any, n_tokens: int | None = None) -> Tensor:
    """Positions of sequences whose padding comes first: (sequence, token), padding -1.

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
