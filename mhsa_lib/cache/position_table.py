"""The positions table of the growing cache: where every token that it keeps stands.

A slot of that cache holds one token of every sequence; its position may differ from sequence to
sequence, and is -1 where the slot holds padding.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks
from mhsa_lib.cache.positions import Announced, asked, continuing, room, same_sequences


class PositionTable(Announced):
    """Positions of all tokens kept so far, and of the call that runs.

    A call is begun by ``next`` and counts once it is taken; one that fails leaves no trace. The
    tables stay on the CPU, so that asking them never waits for another device.

    ``length`` is the most tokens of a sequence, padding included; None for no end.

    >>> table = PositionTable(length=4)
    >>> table.next((1,), 3, torch.device("cpu"))
    tensor([[0, 1, 2]])
    >>> table.take()
    >>> table.n_slots, table.lengths.tolist()
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

    @property
    def sequences(self) -> tuple[int, ...]:
        """Leading axes of what is kept; ``ValueError`` while an announcement waits."""
        self.nothing_waits()
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
        if self._device is not None:
            same_sequences(tuple(self.lengths.shape), self._device, batch, device)
        room(self.length, self.n_slots, n_tokens)
        start = self.lengths.expand(batch)
        if self._announced is None:
            self._call = start[..., None] + torch.arange(n_tokens, device="cpu")
        else:
            self._call = continuing(self._announced, start, n_tokens)
        self._coming = device
        return self._call.to(device)

    def may_look(self, mask: Any, n_heads: int) -> Any:
        """The mask of the call that runs, over all slots, its own included.

        As it was given while slots are positions; otherwise a tensor, as of ``asked``.
        """
        if self.uniform and self._announced is None:
            return mask
        query, key = (t.to(self._coming) for t in (self._call, self._with(self._call)))
        return asked(mask, query, key, tuple(query.shape[:-1]), n_heads)

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
