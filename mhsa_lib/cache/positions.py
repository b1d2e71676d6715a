"""Where the tokens of a cache stand: a table of positions that every cache keeps.

A slot of a cache holds one token of every sequence; its position may differ from sequence to
sequence, and is -1 where the slot holds padding. Masks are rules about positions, so they are
asked about these and not about slots.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks, masks

WAITING = (
    "an announcement waits for the next call; make that call, or announce(None), before "
    "sequences change places."
)
"""What is said to whoever reorders a cache too early."""


class Places:
    """Positions of all tokens kept so far, and of the call that runs.

    A call is begun by ``next`` and counts once it is taken; one that fails leaves no trace. The
    tables stay on the CPU, so that asking them never waits for another device.

    ``length`` is the number of slots there may be, None for no limit.

    >>> places = Places(length=4)
    >>> places.next((1,), 3, torch.device("cpu"))
    tensor([[0, 1, 2]])
    >>> places.take()
    >>> places.n_slots, places.lengths.tolist()
    (3, [3])
    """

    def __init__(self, length: int | None = None) -> None:
        if length is not None:
            checks.positive(length=length)
        self.length = length
        self.forget()

    def forget(self) -> None:
        """Empty again: the next token stands at 0."""
        self.table = torch.empty(0, dtype=torch.long, device="cpu")
        self.lengths = torch.zeros((), dtype=torch.long, device="cpu")
        self.uniform = True
        self._device: torch.device | None = None
        self._announced: Tensor | None = None
        self._call = self.table

    @property
    def n_slots(self) -> int:
        """Slots taken so far."""
        return self.table.shape[-1]

    def announce(self, positions: Any) -> None:
        """Positions (*batch, token) of the next call's tokens; -1 is padding; None: go on."""
        self._announced = None if positions is None else whole("positions", positions)

    @property
    def sequences(self) -> tuple[int, ...]:
        """Leading axes of what is kept; ``ValueError`` while an announcement waits."""
        if self._announced is not None:
            raise ValueError(WAITING)
        return tuple(self.lengths.shape) if self._device is not None else (0,)

    def reorder(self, order: Tensor) -> None:
        """Sequence i goes on where sequence ``order[i]`` ended."""
        self.table, self.lengths = self.table[order], self.lengths[order]

    def next(self, batch: Sequence[int], n_tokens: int, device: torch.device) -> Tensor:
        """Begin a call: the positions of its tokens, (*batch, token).

        They are those announced, else they go on where each sequence ended. Raises
        ``ValueError`` for another batch or device than before, for no room, and for announced
        positions that do not fit or do not continue. What was announced waits for the call that
        succeeds, or for another announcement: without it, padding would count as tokens.
        """
        batch = tuple(batch)
        if self._device is not None and batch != tuple(self.lengths.shape):
            raise ValueError(
                f"the cache holds sequences of batch {tuple(self.lengths.shape)}, but x has "
                f"{batch}; go on with the same batch, or start another cache."
            )
        if self._device is not None and device != self._device:
            raise ValueError(
                f"the cache is on {self._device}, but x is on {device}; move x, or start "
                f"another cache there."
            )
        if self.length is not None and self.n_slots + n_tokens > self.length:
            raise ValueError(
                f"the cache has {self.length} slots, {self.n_slots} are taken and {n_tokens} "
                f"tokens come; give it a length of {self.n_slots + n_tokens} or more."
            )
        start = self.lengths.expand(batch)
        if self._announced is None:
            self._call = start[..., None] + torch.arange(n_tokens, device="cpu")
        else:
            self._call = continuing(self._announced, start, n_tokens)
        self._coming = device
        return self._call.to(device)

    def may_look(self, mask: Any, n_heads: int) -> Any:
        """The mask of the call that runs, over all slots, its own included.

        As it was given while slots are positions. Otherwise a tensor: a predicate is asked
        about positions, a boolean tensor is about slots, and padding is never looked at and
        looks at nothing.
        """
        if self.uniform and self._announced is None:
            return mask
        query = self._call.to(self._coming)[..., None, :, None]
        key = self._with(self._call).to(self._coming)[..., None, None, :]
        shape = (*query.shape[:-3], n_heads, query.shape[-2], key.shape[-1])
        allowed = (query >= 0) & (key >= 0)
        if isinstance(mask, masks.Predicate):
            return allowed & mask(query, key)
        mask = masks.resolve(mask, shape, self._coming)
        return allowed if mask is None else allowed & mask

    def take(self) -> None:
        """End the call: its tokens are in the cache now."""
        self.uniform &= self._announced is None
        self.table = self._with(self._call)
        self.lengths = self.lengths + (self._call >= 0).sum(dim=-1)
        self._device, self._announced = self._coming, None

    def window(self, size: int) -> Tensor:
        """The slots that a window of ``size`` tokens, the next one counted, still reaches."""
        reached = self.table > self.lengths[..., None] - size
        reached &= self.table >= 0
        of_any = torch.atleast_2d(reached).flatten(end_dim=-2).any(dim=0)
        return of_any.nonzero().flatten()

    def keep(self, slots: Tensor) -> None:
        """Only these slots stay."""
        if len(slots) < self.n_slots:
            self.table, self.uniform = self.table[..., slots], False

    def _with(self, positions: Tensor) -> Tensor:
        return torch.cat([self.table.expand(*positions.shape[:-1], -1), positions], dim=-1)


def within(mask: Any, rule: masks.Predicate | None) -> Any:
    """The mask of a call to a cache that keeps what ``rule``, a window, reaches; None for all.

    Nobody looks further than the window, or the numbers would depend on how a text is cut.

    >>> within(masks.causal, masks.sliding_window(2))
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


def whole(name: str, numbers: Any) -> Tensor:
    """Whole numbers, at least one axis of them, on the CPU, where asking them costs nothing.

    >>> whole("lengths", [1.5])
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


def chosen(order: Any, sequences: tuple[int, ...]) -> Tensor:
    """Which sequence every new one continues, if the cache of that batch holds them all.

    >>> chosen([1, 1, 0], (2,))
    tensor([1, 1, 0])
    """
    order = whole("order", order)
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
    ends = whole("lengths", lengths)
    n_tokens = int(ends.max()) if n_tokens is None else n_tokens
    if (ends < 0).any() or (ends > n_tokens).any():
        raise ValueError(
            f"lengths {ends.tolist()} do not fit {n_tokens} tokens; each is 0 to {n_tokens}."
        )
    return ends[:, None], torch.arange(n_tokens, device="cpu")
