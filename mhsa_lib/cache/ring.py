"""Which slot of a cache a token takes, when memory is taken once and nothing in it moves.

The token at position p of a sequence takes slot p, whatever the others of the batch do; padding
takes none. Under a sliding window there are no more slots than the window is wide, and p takes
slot p mod n_slots: a ring, in which the newest token lies where the oldest was.
"""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import checks, masks
from mhsa_lib.cache.positions import Announced, asked, continuing, room, within_window


class RingIndex(Announced):
    """Where every sequence of a batch ends, and which tokens the call that runs brings.

    A call is begun by ``begin`` and counts once ``take`` says so; one that fails leaves no
    trace. Ends are Python numbers: no step waits for a device, and while all sequences are
    equally long (``even``) a step makes no tensor here.

    Parameters
    ----------
    batch : number of sequences
    length : the most tokens of a sequence; None for no end, which takes a window
    window : tokens that a query may look at, its own counted; None for all before it

    Examples
    --------
    >>> ring = RingIndex(batch=2, length=None, window=3)
    >>> for n_tokens in (2, 1, 1):
    ...     ring.begin(n_tokens)
    ...     ring.take()
    >>> ring.ends, ring.block
    ([4, 4], (0, 1))
    >>> ring.positions_kept()
    tensor([[3, 1, 2]])
    """

    def __init__(self, batch: int, length: int | None, window: int | None = None) -> None:
        if length is None and window is None:
            raise ValueError("a cache has an end, or a window; give it a length.")
        for name, size in (("batch", batch), ("length", length), ("window", window)):
            if size is not None:
                checks.positive(**{name: size})
        self.batch, self.length, self.window = batch, length, window
        self.n_slots = min(size for size in (length, window) if size is not None)
        self._rule = masks.causal if window is None else masks.sliding_window(window)
        self.forget()

    @property
    def rule(self) -> masks.Predicate:
        """Whom a token may look at: all before it, or those in the window."""
        return self._rule

    def forget(self) -> None:
        """Empty again: the next token stands at 0."""
        self.ends = [0] * self.batch
        self._announced = None
        self._now: Tensor | None = None

    def begin(self, n_tokens: int) -> None:
        """Begin a call of ``n_tokens``, at the positions announced, else each goes on.

        Raises ``ValueError`` for no room, and for an announcement that does not fit or does not
        continue. It waits for the call that succeeds, or for another announcement.
        """
        announced = self._announced
        later = [end + n_tokens for end in self.ends]
        if announced is not None:
            announced = continuing(announced, torch.tensor(self.ends, device="cpu"), n_tokens)
            real = (announced >= 0).sum(dim=-1).tolist()
            later = [end + n for end, n in zip(self.ends, real, strict=True)]
        most = max(later)
        kept = self.ends[later.index(most)]
        room(self.length, kept, most - kept)
        self._now, self._later, self.n_tokens = announced, later, n_tokens
        self.even = announced is None and self.ends.count(self.ends[0]) == self.batch
        # One token lies where one lay that it cannot see. Several, that lap the ring, would lie
        # where one lies that the first of them still sees: they are written in the end.
        self.in_place = n_tokens == 1 or most <= self.n_slots
        self.n_used = min(most if self.in_place else max(self.ends), self.n_slots)

    def take(self) -> None:
        """End the call: its tokens are in the cache now."""
        self.ends, self._announced = self._later, None

    @property
    def sequences(self) -> tuple[int, ...]:
        """How many there are, 0 while all are empty; ``ValueError`` before announced calls."""
        self.nothing_waits()
        return (self.batch if any(self.ends) else 0,)

    def reorder(self, order: list[int]) -> None:
        """Sequence i goes on where sequence ``order[i]`` ended."""
        self.ends = [self.ends[i] for i in order]

    # --- where the tokens of the call go -----------------------------------------------------

    def positions(self, device: torch.device | None = None) -> Tensor:
        """Of the call's tokens, (batch, token); (1, token) while all sequences are even."""
        if self._now is not None:
            return self._now.to(device)
        ends = torch.tensor(self.ends[:1] if self.even else self.ends, device=device)
        return ends[:, None] + torch.arange(self.n_tokens, device=device)

    @property
    def block(self) -> tuple[int, int] | None:
        """Start and end of the slots that the call fills, if they are the same for everyone."""
        if not (self.even and self.in_place):
            return None
        start = (self._later[0] - self.n_tokens) % self.n_slots
        return start, start + self.n_tokens

    def scatter(self, device: torch.device | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Sequence, token and slot of everything that the call leaves in the cache."""
        if self.n_tokens == 1 and self._now is None:  # known without a look at tensors
            sequence = torch.arange(self.batch, device=device)
            slot = torch.tensor(self.ends, device=device) % self.n_slots
            return sequence, torch.zeros_like(sequence), slot
        positions = self.positions(device).expand(self.batch, -1)
        oldest = torch.tensor(self._later, device=device)[:, None] - self.n_slots
        sequence, token = (positions >= oldest.clamp(min=0)).nonzero(as_tuple=True)
        return sequence, token, positions[sequence, token] % self.n_slots

    # --- what they may look at ---------------------------------------------------------------

    @property
    def oldest(self) -> int:
        """The slot of the oldest token kept while all sequences are even, else 0."""
        return self.ends[0] % self.n_used if self.even and self.n_used else 0

    def positions_kept(self, device: torch.device | None = None) -> Tensor:
        """Of the slots in use, (batch, slot) or (1, slot); below 0 where nothing lies."""
        ends = self._later if self.in_place else self.ends
        last = torch.tensor(ends[:1] if self.even else ends, device=device)[:, None] - 1
        return last - (last - torch.arange(self.n_used, device=device)) % self.n_slots

    def may_look(self, mask: Any, n_heads: int, device: torch.device) -> Any:
        """The mask of the call, the cache's window in it, over all that it looks at.

        While slots are positions, or only the window matters, it stays a predicate; otherwise
        it is a tensor, as of ``asked``. Raises ``TypeError`` for a tensor under a window, where
        a slot has no position of its own.
        """
        mask = within_window(mask, self._rule if self.window else None)
        if self.even and (mask is self.rule or max(self._later) <= self.n_slots):
            return None if mask is self.rule and self.n_tokens == 1 else mask
        if self._right_padded and isinstance(mask, masks.Predicate):
            return mask & masks.padding(self._later)
        query, key = self.positions(device), self.positions_kept(device)
        if not self.in_place:
            key = key.roll(-self.oldest, dims=-1).expand(len(query), -1)
            key = torch.cat([key, query], dim=-1)
        return asked(mask, query, key, (self.batch,), n_heads)

    @property
    def _right_padded(self) -> bool:
        """Whether the call's tokens stand at their own index after a past that was even."""
        if self._now is None or self.ends.count(self.ends[0]) < self.batch:
            return False
        straight = self.ends[0] + torch.arange(self.n_tokens, device="cpu")
        ends_at = self.ends[0] + self.n_tokens == max(self._later) <= self.n_slots
        return ends_at and bool(((self._now < 0) | (self._now == straight)).all())
