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
from mhsa_lib.shapes import Mask


class Places:
    """Positions (*batch, slot) of all tokens kept so far, and what comes next.

    ``length`` is the number of slots there may be; None for no limit. ``uniform`` says that no
    positions were ever announced: slots are positions, the same in every sequence.

    >>> places = Places(length=4)
    >>> places.take(places.next((1,), 3, torch.device("cpu")))
    >>> places.table.tolist(), places.n_slots
    ([[0, 1, 2]], 3)
    >>> places.next((1,), 2, torch.device("cpu"))
    Traceback (most recent call last):
    ...
    ValueError: the cache has 4 slots, 3 are taken and 2 tokens come; give it a length of 5 ...
    """

    def __init__(self, length: int | None = None) -> None:
        if length is not None:
            checks.positive(length=length)
        self.length, self.uniform = length, True
        self.table: Tensor | None = None
        self._announced: Tensor | None = None
        self._seen: Tensor | None = None

    @property
    def n_slots(self) -> int:
        """Slots taken so far."""
        return 0 if self.table is None else self.table.shape[-1]

    def announce(self, positions: Any) -> None:
        """The positions (*batch, token) of the next call's tokens; -1 marks padding."""
        positions = torch.as_tensor(positions)
        if positions.is_floating_point() or positions.dtype is torch.bool or not positions.ndim:
            raise TypeError(f"positions are whole numbers (…, token), not {positions!r}.")
        self._announced, self.uniform = positions, False

    def next(self, batch: Sequence[int], n_tokens: int, device: torch.device) -> Tensor:
        """Positions of ``n_tokens`` more tokens of every sequence, (*batch, token).

        They go on where each sequence ended. Raises ``ValueError`` for announced positions that
        do not, for another batch or device than before, and when there is no room.
        """
        batch = tuple(batch)
        if self.table is not None and batch != tuple(self.table.shape[:-1]):
            raise ValueError(
                f"the cache holds sequences of batch {tuple(self.table.shape[:-1])}, but x has "
                f"{batch}; go on with the same batch, or start another cache."
            )
        if self.table is not None and device != self.table.device:
            raise ValueError(
                f"the cache is on {self.table.device}, but x is on {device}; move x, or start "
                f"another cache there."
            )
        if self.length is not None and self.n_slots + n_tokens > self.length:
            raise ValueError(
                f"the cache has {self.length} slots, {self.n_slots} are taken and {n_tokens} "
                f"tokens come; give it a length of {self.n_slots + n_tokens} or more."
            )
        seen = torch.zeros(batch, dtype=torch.long) if self._seen is None else self._seen.cpu()
        if self._announced is None:
            positions = seen[..., None] + torch.arange(n_tokens)
        else:
            positions = self._announced.cpu().expand(*batch, n_tokens)
            _continues(positions, seen)
        return positions.to(device)

    def take(self, positions: Tensor) -> None:
        """The tokens at these positions are in the cache now."""
        old = [] if self.table is None else [self.table]
        self.table = torch.cat([*old, positions], dim=-1)
        ended = positions.amax(dim=-1) + 1
        self._seen = ended if self._seen is None else torch.maximum(self._seen, ended)
        self._announced = None

    def keep(self, slots: Tensor) -> None:
        """Only these slots stay."""
        if self.table is not None:
            self.table = self.table[..., slots]

    def forget(self) -> None:
        """Empty again: the next token stands at 0."""
        self.table = self._announced = self._seen = None
        self.uniform = True

    def may_look(self, mask: Any, query: Tensor, n_heads: int) -> Mask | None:
        """The mask of a call whose tokens stand at ``query``, over all slots, its own included.

        A predicate is asked about positions; a boolean tensor is about slots. Padding is never
        looked at and looks at nothing.
        """
        old = [] if self.table is None else [self.table]
        query, key = (
            query[..., None, :, None],
            torch.cat([*old, query], dim=-1)[..., None, None, :],
        )
        shape = (*query.shape[:-3], n_heads, query.shape[-2], key.shape[-1])
        allowed = (query >= 0) & (key >= 0)
        positions = isinstance(mask, masks.Predicate)
        given = mask(query, key) if positions else masks.resolve(mask, shape, query.device)
        if given is None:
            return None if allowed.all() else allowed
        return allowed & given


def _continues(positions: Tensor, seen: Tensor) -> None:
    """Every sequence's positions, padding left out, count on from where it ended."""
    for row, start in zip(
        positions.reshape(-1, positions.shape[-1]).tolist(),
        seen.flatten().tolist(),
        strict=True,
    ):
        real = [position for position in row if position != -1]
        if real != list(range(start, start + len(real))):
            raise ValueError(
                f"positions {row} do not continue a sequence of {start} tokens; they go on "
                f"with {start}, {start + 1}, …, and -1 marks padding."
            )


def right_padded(lengths: Sequence[int], n_tokens: int | None = None) -> Tensor:
    """Positions of sequences whose padding comes last: (sequence, token), padding -1.

    >>> right_padded([3, 1]).tolist()
    [[0, 1, 2], [0, -1, -1]]
    """
    ends, token = _ends(lengths, n_tokens)
    return torch.where(token < ends, token, -1)


def left_padded(lengths: Sequence[int], n_tokens: int | None = None) -> Tensor:
    """Positions of sequences whose padding comes first: (sequence, token), padding -1.

    >>> left_padded([3, 1]).tolist()
    [[0, 1, 2], [-1, -1, 0]]
    """
    ends, token = _ends(lengths, n_tokens)
    start = token.numel() - ends
    return torch.where(token >= start, token - start, -1)


def _ends(lengths: Sequence[int], n_tokens: int | None) -> tuple[Tensor, Tensor]:
    ends = torch.as_tensor(lengths)
    n_tokens = int(ends.max()) if n_tokens is None else n_tokens
    if (ends < 0).any() or (ends > n_tokens).any():
        raise ValueError(
            f"lengths {ends.tolist()} do not fit {n_tokens} tokens; each is 0 to {n_tokens}."
        )
    return ends[:, None], torch.arange(n_tokens)
