"""The memory of a cache, and the one rule for where a token is kept.

The token at position p of a sequence is kept in slot p, whatever the rest of the batch does;
padding takes no slot. Under a window there are as many slots as the window has tokens, and p is
kept in slot p mod n_slots: a ring, in which the newest token overwrites the oldest.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.compiler import is_compiling

from mhsa_lib import checks, masks
from mhsa_lib.cache.positions import (
    checked_order,
    continuing,
    masked_by_position,
    same_sequences,
    whole_numbers,
    within_window,
)


class State(NamedTuple):
    """All that a cache knows, in one value: assigning it is what makes a call count.

    Between two assignments nothing can be half changed, even if Ctrl-C arrives there.

    Parameters
    ----------
    wires, axes : the memory of every wire by name, and which axis holds its slots
    ends : tokens of every sequence so far, leading axes flattened
    batch, device : leading axes of x, and where it is
    stale : slots below this one may hold numbers of a call that failed or of dropped tokens
    """

    wires: dict[str, Tensor]
    axes: dict[str, int]
    ends: list[int]
    batch: tuple[int, ...]
    device: torch.device | None
    stale: int


EMPTY = State({}, {}, [], (), None, 0)


class KVCache:
    """Keys and values of all tokens so far, for attention that goes on with the next token.

    It grows when ``max_length`` is None, and a call copies what is kept. With a ``max_length``
    memory is allocated once, in the first call, and a step writes one token. With a ``window``
    that memory is a ring of ``window`` slots, for a text of any length. Every sequence of the
    batch has its own length.

    A call counts when it is committed at its end. One that fails before, for whatever reason,
    leaves the cache as it was.

    Parameters
    ----------
    max_length : the most tokens of a sequence; None for no limit
    window : how many tokens a query sees, itself included; older ones are overwritten

    Raises
    ------
    ValueError : for sizes below 1

    Examples
    --------
    >>> cache, k = KVCache(), torch.randn(2, 3, 5, 4)
    >>> _, _, mask = cache.update(k, k)
    >>> mask
    causal
    >>> keys, values, mask = cache.update(k[:, :, :1], k[:, :, :1])
    >>> keys.shape, mask
    (torch.Size([2, 3, 6, 4]), None)
    >>> cache
    KVCache(6 tokens, 1,152 bytes: k (2, 3, 6, 4), v (2, 3, 6, 4))
    """

    def __init__(self, max_length: int | None = None, window: int | None = None) -> None:
        for name, size in (("max_length", max_length), ("window", window)):
            if size is not None:
                checks.positive(**{name: size})
        self.max_length, self.window = max_length, window
        # A window that no text can fill forgets nothing: it is the causal rule, and no ring.
        filled = window is not None and (max_length is None or window < max_length)
        self.ring = window if filled else None
        self.n_slots = max_length if self.ring is None else self.ring
        self.rule = masks.causal if self.ring is None else masks.sliding_window(self.ring)
        self._state = EMPTY
        self._at: Tensor | None = None

    @property
    def n_tokens(self) -> int:
        """Tokens of the longest sequence so far, those that left a window included."""
        return max(self._state.ends, default=0)

    @property
    def lengths(self) -> Any:
        """Tokens of every sequence so far, padding left out: nested lists of x's leading axes.

        Empty before the first call.
        """
        if self._state.device is None:
            return []
        ends = self._state.ends[: prod(self._state.batch)]
        return torch.tensor(ends, device="cpu").view(self._state.batch).tolist()

    @property
    def bytes(self) -> int:
        """Memory that is allocated, whether it is in use or not."""
        return sum(t.numel() * t.element_size() for t in self._state.wires.values())

    @property
    def wires(self) -> dict[str, Tensor]:
        """What is kept, by name: views of the slots in use, in a ring in the ring's order."""
        n = self.n_tokens if self.n_slots is None else min(self.n_tokens, self.n_slots)
        axes = self._state.axes
        return {name: t.narrow(axes[name], 0, n) for name, t in self._state.wires.items()}

    @property
    def positions(self) -> Tensor:
        """The position that each slot in use holds, ``(*batch, slot)``; below 0 where empty.

        >>> cache, k = KVCache(window=3), torch.zeros(1, 1, 1, 2)
        >>> for _ in range(5):
        ...     _ = cache.update(k, k)
        >>> cache.positions
        tensor([[3, 4, 2]])
        """
        ends, batch = self._state.ends, self._state.batch
        n = self.n_tokens if self.n_slots is None else min(self.n_tokens, self.n_slots)
        found = _positions(ends, self.n_slots or max(n, 1), 0, n, "cpu")
        return found[: prod(batch)].view(*batch, n)

    def __repr__(self) -> str:
        ring = "" if self.ring is None else f" in a ring of {self.ring}"
        wires = [f"{name} {tuple(kept.shape)}" for name, kept in self._state.wires.items()]
        memory = ": " * bool(wires) + ", ".join(wires)
        return f"KVCache({self.n_tokens} tokens{ring}, {self.bytes:,} bytes{memory})"

    # --- calls -------------------------------------------------------------------------------

    def update(self, k: Tensor, v: Tensor, positions: Any = None) -> tuple[Tensor, Tensor, Any]:
        """Keep keys and values ``(*batch, kv_head, token, d_head)``; return all that is seen.

        Returns ``k, v, mask``: keys and values of the tokens kept and of the new ones, and who
        may attend to what, as any attention of this library takes it: None when the single new
        token sees all of them, a predicate (``masks.causal`` or a window), or, with sequences
        of different lengths, a tensor ``(*batch, 1, token, key)``. Keys and values may be
        views of the memory, which later calls write to; do not change them in place.

        ``positions``, ``(*batch, token)``, say which tokens are padding: -1 is padding, the
        others count on from where each sequence ended. Without them every token is real.

        The tokens count from now on; ``crop`` takes them back. Raises ``ValueError`` for
        another batch, device, dtype or width than before, for no room, and for positions that
        do not continue.
        """
        if k.ndim < 3 or k.shape[:-1] != v.shape[:-1]:
            raise ValueError(
                f"k {tuple(k.shape)} and v {tuple(v.shape)} are not keys and values of the "
                f"same tokens; both are (*batch, kv_head, token, d_head)."
            )
        call = self.begin(k.shape[:-3], k.shape[-2], k.device, positions)
        mask = call.attention_mask(self.rule)
        k, v = call.append("k", k), call.append("v", v)
        call.commit()
        return k, v, mask

    @contextmanager
    def at(self, positions: Any) -> Iterator[None]:
        """In the block, calls bring tokens at these ``positions``, ``(*batch, token)``.

        -1 is padding, which takes no room, sees nothing and is not seen; the other tokens count
        on from where each sequence ended, so a call that they do not fit raises ``ValueError``.
        ``left_padded`` and ``right_padded`` make them from lengths.

        >>> cache, k = KVCache(), torch.randn(2, 3, 4, 8)
        >>> with cache.at([[0, 1, 2, 3], [0, 1, -1, -1]]):
        ...     keys, values, mask = cache.update(k, k)
        >>> cache.lengths
        [4, 2]
        """
        before, self._at = self._at, whole_numbers("positions", positions)
        try:
            yield
        finally:
            self._at = before

    def begin(
        self, batch: Any, n_tokens: int, device: torch.device, positions: Any = None
    ) -> "Call":
        """Begin a call of ``n_tokens`` for sequences of leading axes ``batch``.

        Nothing counts until its ``commit``, so that a call which fails leaves no trace.
        """
        batch = tuple(batch)
        if self._state.stale:
            self._wipe()
        state = self._state
        if any(state.ends):
            same_sequences(state.batch, state.device, batch, device)
        elif (state.batch, state.device) != (batch, device):
            # An empty batch has one end too, so that nothing has to ask whether there is any.
            state = State({}, {}, [0] * max(prod(batch), 1), batch, device, 0)
        given = self._at if positions is None else whole_numbers("positions", positions)
        return Call(self, state, n_tokens, given)

    # --- between calls -----------------------------------------------------------------------

    def reorder(self, order: Any) -> None:
        """Let sequence i go on from what sequence ``order[i]`` was: a step of beam search.

        ``order`` (sequence,) are whole numbers; sequences may be repeated and left out, and
        without a ``max_length`` or ``window`` become more or fewer. In allocated memory only
        rows that change are copied, and of them what was written. Raises ``ValueError`` for a
        number that is no sequence, another count than memory was allocated for, an empty
        cache, and unless x has one leading axis.
        """
        state = self._state
        order = checked_order(order, state.batch if any(state.ends) else (0,))
        ends = [state.ends[i] for i in order.tolist()]
        if self.n_slots is None:
            wires = {
                name: kept.narrow(state.axes[name], 0, max(ends)).index_select(
                    0, order.to(kept.device)
                )
                for name, kept in state.wires.items()
            }
            self._state = state._replace(wires=wires, ends=ends, batch=(len(order),))
            return
        if len(order) != len(state.ends):
            raise ValueError(
                f"order names {len(order)} sequences, but memory was allocated for "
                f"{len(state.ends)}; name as many, or start another cache."
            )
        moved = (order != torch.arange(len(order), device="cpu")).nonzero().flatten()
        # All rows are read before any is written: a sequence may be overwritten that another
        # one continues, and k must not move when there is no memory left to read v.
        used, source = self.wires, order[moved]
        new = {name: kept[source.to(kept.device)] for name, kept in used.items()}
        old = {name: kept[moved.to(kept.device)] for name, kept in used.items()}
        if not all(_is_writable(kept) for kept in used.values()):
            wires = {
                name: kept.index_select(0, order.to(kept.device))
                for name, kept in state.wires.items()
            }
            self._state = state._replace(wires=wires, ends=ends)
            return
        try:
            _overwrite(used, moved, new)
            self._state = state._replace(ends=ends)
        except BaseException:
            _overwrite(used, moved, old)
            raise

    def crop(self, length: Any) -> None:
        """Drop all tokens from position ``length`` on: draft tokens that were rejected.

        ``length`` is one number, or one for every sequence; those that are not longer stay as
        they are. Raises ``ValueError`` for a negative length, another number of them than
        sequences, and in a ring that was full, where older tokens were overwritten.

        >>> cache, k = KVCache(), torch.randn(1, 3, 5, 4)
        >>> _ = cache.update(k, k)
        >>> cache.crop(3)
        >>> cache.lengths
        [3]
        """
        state, one = self._state, isinstance(length, int) and not isinstance(length, bool)
        lengths = whole_numbers("lengths", [length] if one else length).flatten().tolist()
        if one:
            lengths *= len(state.ends)
        if len(lengths) != len(state.ends) or any(n < 0 for n in lengths):
            raise ValueError(
                f"length={length} does not crop {len(state.ends)} sequences; give one length "
                f"of 0 or more, or one for each sequence."
            )
        ends = [min(end, n) for end, n in zip(state.ends, lengths, strict=True)]
        # What a call sees after it was cropped to n are the tokens from n + 1 - window on, and
        # a full ring has overwritten the first of them.
        full = self.ring is not None and max(state.ends, default=0) >= self.ring
        if full and ends != state.ends:
            raise ValueError(
                f"a window of {self.ring} has overwritten tokens that a text cropped to "
                f"{length} would see again; crop before {self.ring} tokens have come, or use "
                f"a cache without a window."
            )
        state = state._replace(ends=ends, stale=max(state.stale, *state.ends, 0))
        if self.n_slots is None:
            n = max(ends, default=0)
            cropped = {
                name: kept.narrow(state.axes[name], 0, n) for name, kept in state.wires.items()
            }
            self._state = _wiped(state._replace(wires=cropped, stale=n), n, self.ring)
            return
        self._state = state
        self._wipe_now_or_later()

    def reset(self) -> None:
        """Empty the cache; the next token is at position 0. Allocated memory is kept."""
        state = self._state
        kept = self.n_slots is not None
        if not kept or not all(map(_is_writable, state.wires.values())):
            self._state = EMPTY
            return
        self._state = state._replace(ends=[0] * len(state.ends), stale=self.n_slots or 0)
        self._wipe_now_or_later()

    def _wipe_now_or_later(self) -> None:
        """Wipe what was dropped; if there is no memory for that, the next call tries again."""
        with suppress(Exception):
            self._wipe()

    def _wipe(self) -> None:
        self._state = _wiped(self._state, self.n_slots or self._state.stale, self.ring)


def _positions(ends: list[int], n_slots: int, first: int, end: int, device: Any) -> Tensor:
    """The positions in slots ``first`` to ``end``, (sequence, slot); below 0 where it is empty.

    Of the positions that share a slot, p mod n_slots, it is the last before the end.
    """
    last = torch.tensor(ends, device=device)[:, None] - 1
    return last - (last - torch.arange(first, end, device=device)) % n_slots


def _overwrite(used: dict[str, Tensor], moved: Tensor, rows: dict[str, Tensor]) -> None:
    for name, kept in used.items():
        kept[moved.to(kept.device)] = rows[name]


def _wiped(state: State, n_slots: int, ring: int | None) -> State:
    """Zeros in the slots below ``state.stale`` that hold no token which may still be seen.

    A sequence that is shorter than others reads such slots under a mask. Their weights are 0,
    but 0 · NaN is NaN, so the numbers of a call that failed must not stay there.
    """
    first = min(state.ends, default=0) if state.stale <= n_slots else 0
    end = min(state.stale, n_slots)
    if first >= end:
        return state._replace(stale=0)
    wires = dict(state.wires)
    for name, kept in wires.items():
        ends = torch.tensor(state.ends, device=kept.device)[:, None]
        position = _positions(state.ends, n_slots, first, end, kept.device)
        gone = position < (0 if ring is None else (ends + 1 - ring).clamp(min=0))
        if not (_is_writable(kept) and kept.is_contiguous()):
            kept = wires[name] = kept.clone(memory_format=torch.contiguous_format)
        rows = _by_sequence(kept, state.batch).narrow(state.axes[name], first, end - first)
        around = [1] * (rows.ndim - 1)
        around[state.axes[name]] = end - first
        rows.masked_fill_(gone.view(len(gone), *around), 0)
    return state._replace(wires=wires, stale=0)


def _is_writable(kept: Tensor) -> bool:
    """Whether memory may be changed in place: autograd and inference mode may forbid it."""
    if kept.requires_grad:
        return False
    return is_compiling() or not kept.is_inference() or torch.is_inference_mode_enabled()


def _by_sequence(t: Tensor, batch: tuple[int, ...]) -> Tensor:
    """A view in which all leading axes are one."""
    return t.view(prod(batch), *t.shape[len(batch) :])


class Call:
    """One call in progress: ``append`` the wires, ask for the mask, and ``commit`` at the end.

    Ends are Python numbers: no step waits for a device, and while all sequences are equally
    long a step makes no tensor here. Made by ``KVCache.begin``.

    >>> cache, k = KVCache(max_length=4), torch.randn(1, 2, 3, 4)
    >>> call = cache.begin((1,), 3, k.device)
    >>> keys = call.append("k", k)
    >>> cache.n_tokens
    0
    >>> call.commit()
    >>> cache.n_tokens
    3
    """

    def __init__(
        self, cache: KVCache, state: State, n_tokens: int, positions: Tensor | None
    ) -> None:
        self.cache, self.state, self.n_tokens = cache, state, n_tokens
        self.before = cache._state
        if positions is not None:
            positions = continuing(positions, state.ends, state.batch, n_tokens)
        self.given, ends = positions, state.ends
        if positions is None:
            self.later = [end + n_tokens for end in ends]
        else:
            real = (positions >= 0).sum(dim=-1).tolist()
            self.later = [end + n for end, n in zip(ends, real, strict=True)]
        most = max(self.later)
        if cache.max_length is not None and most > cache.max_length:
            taken = ends[self.later.index(most)]
            raise ValueError(
                f"the cache has room for {cache.max_length} tokens of a sequence, {taken} have "
                f"come and {most - taken} more come; give it a max_length of {most} or more."
            )
        self.even = positions is None and ends.count(ends[0]) == len(ends)
        n_slots = cache.n_slots
        # In a ring a single token overwrites the slot of the token that has just left its
        # window. A chunk that wraps around would overwrite keys that its first query still
        # sees: it reads them beside the memory, and is written to a copy of the ring, which
        # takes the ring's place when the call is committed.
        self.wraps = n_slots is not None and n_tokens != 1 and most > n_slots
        n_used = max(ends) if self.wraps else most
        self.n_used = n_used if n_slots is None else min(n_used, n_slots)
        self.wires: dict[str, Tensor] = {}
        self.axes: dict[str, int] = {}
        self.places: tuple[Tensor, Tensor, Tensor] | None = None

    # --- keys, values, or whatever an attention keeps -----------------------------------------

    def append(self, name: str, new: Tensor, axis: int = -2, *, copied: bool = False) -> Tensor:
        """Keep a wire of the new tokens; return it for all tokens that this call may see.

        ``axis``, counted from the end, is that of the tokens. What is returned may be a view of
        the memory; with ``copied`` it never is. Raises ``ValueError`` for another shape or
        dtype than before, and for a wire that this call has appended already.
        """
        if name in self.wires:
            raise ValueError(
                f"wire {name!r} was made twice in one pass; a cache keeps one of each name."
            )
        kept = self.state.wires.get(name)
        self._fits(name, new, kept, axis)
        if self.cache.n_slots is None:
            longer = self._grown(kept, new, axis)
            seen = new if kept is None and self.even else longer
        else:
            longer, seen = self._written(kept, new, axis)
        self.wires[name], self.axes[name] = longer, axis
        return seen.clone() if copied and seen is not new else seen

    def commit(self) -> None:
        """End the call: its tokens count from now on.

        Raises ``RuntimeError`` if the cache has changed since the call began, as it does when
        two tasks share it, and ``ValueError`` for a wire that other calls have kept.
        """
        # A compiled call runs in one piece, and identities are not known while it is compiled.
        if not is_compiling() and self.cache._state is not self.before:
            raise RuntimeError(
                "the cache was changed by something else while this call was running, so its "
                "tokens would be in the wrong place; give every task a cache of its own."
            )
        missing = sorted(self.state.wires.keys() - self.wires.keys())
        if missing and any(self.state.ends):
            raise ValueError(
                f"the pass did not make {', '.join(missing)}, so the cache would have a gap; "
                f"a stage that names wires in cached has to run in every pass."
            )
        state = self.state
        self.cache._state = State(
            self.wires, self.axes, self.later, state.batch, state.device, 0
        )

    def _grown(self, kept: Tensor | None, new: Tensor, axis: int) -> Tensor:
        if self.even:
            # A copy even of the first call's, because the caller holds on to its own.
            return new.clone() if kept is None else torch.cat([kept, new], dim=axis)
        longer = self._zeros(new, axis, self.n_used)
        if kept is not None:
            longer.narrow(axis, 0, kept.shape[axis]).copy_(kept)
        self._write(longer, new, axis)
        return longer

    def _written(self, kept: Tensor | None, new: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """The memory with the new tokens in it, and what the call sees of it."""
        n_slots = self.cache.n_slots or 0
        # Autograd needs the memory of earlier calls as it was, so with gradients it is copied.
        gradients = torch.is_grad_enabled() and new.requires_grad
        old = kept
        if kept is None:
            kept = self._zeros(new, axis, n_slots)
        elif self.wraps or gradients or not _is_writable(kept):
            kept = kept.clone()
        elif not self.state.stale:
            # From here on slots beyond the ends may hold numbers of a call that fails.
            wires, axes, ends, batch, device, _ = self.state
            self.state = State(wires, axes, ends, batch, device, max(self.later))
            self.cache._state = self.before = self.state
        self._write(kept, new, axis)
        if not self.wraps:
            return kept, kept.narrow(axis, 0, self.n_used)
        if old is None or not self.n_used:
            return kept, new
        first = self.oldest
        parts = old.narrow(axis, first, self.n_used - first), old.narrow(axis, 0, first), new
        return kept, torch.cat(parts, dim=axis)

    def _zeros(self, new: Tensor, axis: int, n_slots: int) -> Tensor:
        shape = list(new.shape)
        shape[axis] = n_slots
        if self.cache.n_slots is None or is_compiling():
            return new.new_zeros(shape)
        with torch.inference_mode(False):  # or it could be written to in that mode only
            return torch.zeros(shape, dtype=new.dtype, device=new.device)

    def _write(self, memory: Tensor, new: Tensor, axis: int) -> None:
        if self.even and not self.wraps:
            n_slots = self.cache.n_slots or self.n_used
            start = (self.later[0] - self.n_tokens) % n_slots
            memory.narrow(axis, start, self.n_tokens).copy_(new)
            return
        if self.places is None:
            self.places = self._places()
        sequence, token, slot = self.places
        batch, axis = self.state.batch, axis - 1 if axis < 0 else axis
        new = new.reshape(prod(batch), *new.shape[len(batch) :])
        rows = _by_sequence(memory, batch).movedim(axis + 1, 1)
        rows[sequence, slot] = new.movedim(axis + 1, 1)[sequence, token]

    def _places(self) -> tuple[Tensor, Tensor, Tensor]:
        """Sequence, token and slot of everything that the call leaves in the cache."""
        device, ends = self.state.device, self.state.ends
        n_slots = self.cache.n_slots or max(self.n_used, 1)
        if self.n_tokens == 1 and self.given is None:  # known without reading a tensor
            sequence = torch.arange(len(ends), device=device)
            slot = torch.tensor(ends, device=device) % n_slots
            return sequence, torch.zeros_like(sequence), slot
        positions = self._rows().expand(len(ends), -1)
        oldest = torch.tensor(self.later, device=device)[:, None] - n_slots
        sequence, token = (positions >= oldest.clamp(min=0)).nonzero(as_tuple=True)
        return sequence, token, positions[sequence, token] % n_slots

    def _fits(self, name: str, new: Tensor, kept: Tensor | None, axis: int) -> None:
        batch = self.state.batch
        if new.shape[: len(batch)] != batch or new.shape[axis] != self.n_tokens:
            raise ValueError(
                f"wire {name!r} is {tuple(new.shape)}, but the call brings {self.n_tokens} "
                f"tokens of batch {batch}; keep one value for every token."
            )
        if kept is None:
            return
        if new.dtype is not kept.dtype:
            raise ValueError(
                f"the cache holds {name!r} in {kept.dtype}, but now it is {new.dtype}; go on "
                f"in the same precision, or start another cache."
            )
        before, behind = new.shape[:axis], new.shape[axis:][1:]
        if before != kept.shape[:axis] or behind != kept.shape[axis:][1:]:
            raise ValueError(
                f"the cache holds {name!r} as {tuple(kept.shape)}, but now it is "
                f"{tuple(new.shape)}; go on with the same attention, or start another cache."
            )

    # --- who may attend to what --------------------------------------------------------------

    @property
    def positions(self) -> Tensor:
        """Positions of the call's tokens, ``(*batch, token)``, -1 for padding."""
        rows, batch = self._rows(), self.state.batch
        if len(rows) == 1:
            return rows.expand(*batch, -1) if batch else rows[0]
        return rows.view(*batch, -1)

    def attention_mask(self, mask: Any, n_heads: int = 1) -> Any:
        """Return the mask of the call over all that it sees, the window of the cache in it.

        It stays a predicate where slots are positions or only the window matters, and is None
        for a single token that sees all; otherwise it is a tensor. Raises ``ValueError`` for
        several tokens without a mask, unless a window hides the future from them, and
        ``TypeError`` for a tensor under a window.
        """
        cache, rule = self.cache, self.cache.rule
        if cache.window is None:
            checks.sees_no_future(mask, self.n_tokens)
        else:
            mask = within_window(mask, rule)
        slots_are_positions = cache.n_slots is None or max(self.later) <= cache.n_slots
        if self.even and (mask is rule or slots_are_positions):
            return None if mask is rule and self.n_tokens == 1 else mask
        if self._right_padded and isinstance(mask, masks.Predicate):
            return mask & masks.padding(self.later)
        query, key = self._rows(), self._kept_positions()
        if self.wraps:
            key = key.roll(-self.oldest, dims=-1).expand(len(query), -1)
            key = torch.cat([key, query], dim=-1)
        batch = self.state.batch
        if len(batch) != 1:
            query, key = (
                t.expand(prod(batch), -1).view(*batch, -1) if len(t) == 1 or batch else t[0]
                for t in (query, key)
            )
        return masked_by_position(mask, query, key, batch, n_heads)

    @property
    def oldest(self) -> int:
        """The slot of the oldest token kept while all sequences are even, else 0."""
        return self.state.ends[0] % self.n_used if self.even and self.n_used else 0

    def _rows(self) -> Tensor:
        """Of the call's tokens, (sequence, token); (1, token) while all sequences are even."""
        device = self.state.device
        if self.given is not None:
            return self.given.to(device)
        ends = torch.tensor(
            self.state.ends[:1] if self.even else self.state.ends, device=device
        )
        return ends[:, None] + torch.arange(self.n_tokens, device=device)

    def _kept_positions(self) -> Tensor:
        """Of the slots in use, (sequence, slot) or (1, slot); below 0 where there is none."""
        ends = self.state.ends if self.wraps else self.later
        n_slots = self.cache.n_slots or max(self.n_used, 1)
        ends = ends[:1] if self.even else ends
        return _positions(ends, n_slots, 0, self.n_used, self.state.device)

    @property
    def _right_padded(self) -> bool:
        """Whether the call's tokens are at their own index after a past that was even."""
        ends, n_slots = self.state.ends, self.cache.n_slots
        if self.given is None or ends.count(ends[0]) < len(ends) or len(self.state.batch) != 1:
            return False
        straight = ends[0] + torch.arange(self.n_tokens, device="cpu")
        end = ends[0] + self.n_tokens
        fits = end == max(self.later) and (n_slots is None or end <= n_slots)
        return fits and bool(((self.given < 0) | (self.given == straight)).all())
