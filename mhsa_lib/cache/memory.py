"""The memory of a cache: the token at position p of a sequence is kept in slot p.

Padding takes no slot. Under a window of n tokens p is kept in slot p mod n: a ring, in which
the newest token overwrites the oldest.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.compiler import is_compiling

from mhsa_lib import checks, masks


class State(NamedTuple):
    """All that a cache knows. One assignment replaces it, so nothing is ever half changed."""

    wires: dict[str, Tensor]  # memory by name
    axes: dict[str, int]  # which axis of each holds the slots, counted from the end
    ends: list[int]  # tokens of every sequence so far, leading axes flattened
    batch: tuple[int, ...]  # leading axes of x
    device: torch.device | None
    clean: bool = True  # whether slots that are not in use hold zeros, or tokens of a ring


EMPTY = State({}, {}, [], (0,), None)


class KVCache:
    """Keys and values of all tokens so far, for attention that goes on with the next token.

    It grows, and a call copies what is kept. With a ``max_length`` memory is allocated once, in
    the first call, and a step writes one token. With a ``window`` that memory is a ring, for a
    text of any length. Every sequence of the batch has its own length. A call counts when it is
    committed at its end; one that fails before leaves the cache as it was.

    Parameters
    ----------
    max_length : the most tokens of a sequence; None for no limit
    window : how many tokens a query sees, itself included; older ones are overwritten

    Examples
    --------
    >>> cache, k = KVCache(), torch.randn(2, 3, 5, 4)
    >>> keys, values, mask = cache.update(k, k)
    >>> mask, cache
    (causal, KVCache(5 tokens, 960 bytes: k (2, 3, 5, 4), v (2, 3, 5, 4)))
    """

    def __init__(self, max_length: int | None = None, window: int | None = None) -> None:
        sizes = {"max_length": max_length, "window": window}
        checks.positive(**{name: size for name, size in sizes.items() if size is not None})
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
        """Tokens of every sequence so far, without padding, nested as the leading axes of x."""
        ends, batch = self._state.ends, self._state.batch
        return torch.tensor(ends[: prod(batch)], device="cpu").view(batch).tolist()

    @property
    def bytes(self) -> int:
        """Memory that is allocated, whether it is in use or not."""
        return sum(t.numel() * t.element_size() for t in self._state.wires.values())

    @property
    def wires(self) -> dict[str, Tensor]:
        """What is kept, by name: views of the slots in use, in a ring in the ring's order."""
        n_used, state = min(self.n_tokens, self.n_slots or self.n_tokens), self._state
        return {name: t.narrow(state.axes[name], 0, n_used) for name, t in state.wires.items()}

    @property
    def positions(self) -> Tensor:
        """The position that each slot in use holds, ``(*batch, slot)``; below 0 where empty."""
        state, n_slots = self._state, self.n_slots or max(self.n_tokens, 1)
        found = _slot_positions(state.ends, n_slots, min(self.n_tokens, n_slots), "cpu")
        return found[: prod(state.batch)].view(*state.batch, found.shape[1])

    def __repr__(self) -> str:
        ring = "" if self.ring is None else f" in a ring of {self.ring}"
        wires = [f"{name} {tuple(kept.shape)}" for name, kept in self._state.wires.items()]
        memory = ": " * bool(wires) + checks.few(wires)
        return f"KVCache({self.n_tokens} tokens{ring}, {self.bytes:,} bytes{memory})"

    def update(self, k: Tensor, v: Tensor, positions: Any = None) -> tuple[Tensor, Tensor, Any]:
        """Keep keys and values ``(*batch, kv_head, token, d_head)``; return all that is seen.

        That is ``k, v, mask`` of the tokens kept and the new ones; the mask is None for a token
        that sees all, else a predicate or a tensor. Keys and values may be views of the memory;
        do not change them in place. ``positions`` are those of ``at``. Raises ``ValueError``
        for what does not continue: batch, device, dtype, width, room or positions.
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
        on from where each sequence ended. Those of a first call are ``mask.cumsum(-1) * mask -
        1``, where a tokenizer's mask is 1 for a token and 0 for padding.

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
        """Begin a call for sequences of leading axes ``batch``; it counts when it commits."""
        state, batch = self._state, tuple(batch)
        if (state.batch, state.device) != (batch, device):
            if any(state.ends):
                raise ValueError(
                    f"the cache holds sequences of batch {state.batch} on {state.device}, but "
                    f"x has {batch} on {device}; go on with those, or start another cache."
                )
            # An empty batch has one end too, so that nothing has to ask whether there is any.
            state = State({}, {}, [0] * max(prod(batch), 1), batch, device)
        given = self._at if positions is None else whole_numbers("positions", positions)
        return Call(self, state, n_tokens, given)

    def reorder(self, order: Any) -> None:
        """Let sequence i go on from what sequence ``order[i]`` was: a step of beam search.

        ``order`` (sequence,) may repeat sequences and leave some out; without a ``max_length``
        or ``window`` they may become more or fewer. All that is kept is copied. Raises
        ``ValueError`` for an order that does not choose from sequences that have begun.
        """
        state, order = self._state, whole_numbers("order", order)
        n = len(state.ends) if any(state.ends) else 0
        outside = not len(order) or order.min() < 0 or order.max() >= n
        resized = self.n_slots is not None and len(order) != n
        if outside or resized or order.ndim != 1 or len(state.batch) != 1:
            raise ValueError(
                f"order={order.tolist()} does not choose from {n} sequences of leading axes "
                f"{state.batch}; after a call on x with one leading axis, name sequences by "
                f"numbers below {n}, and in allocated memory as many as there are."
            )
        # New memory for all wires before any is replaced: k must not move when v finds none.
        wires = {
            name: kept.index_select(0, order.to(kept.device))
            for name, kept in state.wires.items()
        }
        ends = [state.ends[i] for i in order.tolist()]
        self._state = state._replace(wires=wires, ends=ends, batch=(len(order),))

    def crop(self, length: Any) -> None:
        """Drop all tokens from position ``length`` on: draft tokens that were rejected.

        ``length`` is one number, or one for every sequence. Raises ``ValueError`` for lengths
        that are none, and in a ring that was full, where older tokens were overwritten.

        >>> cache, k = KVCache(), torch.randn(1, 3, 5, 4)
        >>> _ = cache.update(k, k)
        >>> cache.crop(3)
        >>> cache.lengths
        [3]
        """
        before = self._state.ends
        given = [length] * max(len(before), 1) if isinstance(length, int) else length
        lengths = whole_numbers("lengths", given).flatten().tolist()
        if len(lengths) != max(len(before), 1) or min(lengths) < 0:
            raise ValueError(
                f"length={length} does not crop {len(before)} sequences; give one length of 0 "
                f"or more, or one for each sequence."
            )
        ends = [min(end, n) for end, n in zip(before, lengths, strict=False)]
        # What a call sees after it was cropped to n are the tokens from n + 1 - window on, and
        # a full ring has overwritten the first of them.
        if ends != before and self.ring is not None and self.n_tokens >= self.ring:
            raise ValueError(
                f"a window of {self.ring} has overwritten tokens that a text cropped to "
                f"{length} would see again; crop before, or use a cache without a window."
            )
        self._state = self._state._replace(ends=ends, clean=False)

    def reset(self) -> None:
        """Empty the cache; the next token is at position 0. Allocated memory is kept."""
        state = self._state
        if self.n_slots is None or any(kept.requires_grad for kept in state.wires.values()):
            self._state = EMPTY  # gradients may still need what is in the memory
        else:
            self._state = state._replace(ends=[0] * len(state.ends), clean=False)


class Call:
    """A call in progress: ``append`` the wires, ask for the mask, and ``commit`` at the end."""

    # Ends are Python numbers, so that no step waits for a device, and a step of sequences that
    # are equally long makes no tensor here.
    def __init__(
        self, cache: KVCache, state: State, n_tokens: int, positions: Tensor | None
    ) -> None:
        self.cache, self.state, self.n_tokens = cache, state, n_tokens
        self.before, ends = cache._state, state.ends
        self.wires: dict[str, Tensor] = {}
        self.axes: dict[str, int] = {}
        self.given, self.later = positions, [end + n_tokens for end in ends]
        if positions is not None:
            self.given = _continuing(positions, ends, state.batch, n_tokens)
        if self.given is not None:
            real = (self.given >= 0).sum(dim=-1).tolist()
            self.later = [end + n for end, n in zip(ends, real, strict=True)]
        most = max(self.later)
        if cache.max_length is not None and most > cache.max_length:
            taken = ends[self.later.index(most)]
            raise ValueError(
                f"the cache has room for {cache.max_length} tokens of a sequence, {taken} have "
                f"come and {most - taken} more come; give it a max_length of {most} or more."
            )
        self.even = self.given is None and ends.count(ends[0]) == len(ends)
        self.n_slots = cache.n_slots or max(most, 1)
        # In a ring a single token overwrites the slot of the token that has just left its
        # window. A chunk that wraps around would overwrite keys that its first query still
        # sees: it reads them beside the memory, and is written to a copy of the ring, which
        # takes the ring's place when the call is committed.
        self.wraps = n_tokens != 1 and most > self.n_slots
        self.clears = not state.clean and (self.wraps or not self.even)
        self.n_used = min(max(ends) if self.wraps else most, self.n_slots)
        self.n_seen = self.n_used + n_tokens * self.wraps
        # From this slot on the tokens of a ring are in order.
        self.oldest = ends[0] % self.n_used if self.even and self.n_used else 0

    def append(self, name: str, new: Tensor, axis: int = -2) -> Tensor:
        """Keep a wire of the new tokens; return it for all tokens that this call may see.

        ``axis``, counted from the end, is that of the tokens. What is returned may be a view of
        the memory. Raises ``ValueError`` for another wire, shape or dtype than before.
        """
        self._check_alone()
        kept, batch = self.state.wires.get(name), self.state.batch
        like = new if kept is None else kept
        wanted = [*batch, *like.shape[len(batch) :]]
        wanted[axis] = self.n_tokens
        is_known = kept is not None or not any(self.state.ends)
        fits = is_known and list(new.shape) == wanted and new.dtype is like.dtype
        if name in self.wires or not fits:
            takes = f"it as {like.dtype} {tuple(wanted)}, once" if is_known else "no such wire"
            raise ValueError(
                f"wire {name!r} came as {new.dtype} {tuple(new.shape)}, but the cache takes "
                f"{takes}; go on with the same attention and precision, or start another cache."
            )
        memory = self.wires[name] = self._memory(kept, new, axis)
        self.axes[name] = axis
        if self.clears:
            self._clear(memory, axis)
        seen = memory.narrow(axis, 0, self.n_used)
        if self.even and not self.state.ends[0]:
            seen = new  # nothing came before, so that not even a ring has to be joined
        elif self.wraps:
            seen = torch.cat([seen.roll(-self.oldest, axis), new], dim=axis)
        self._write(memory, new, axis)
        return seen

    def check(self) -> None:
        """Raise what ``commit`` would: ``RuntimeError`` if another call changed the cache."""
        self._check_alone()
        made, kept = self.wires.keys(), self.state.wires.keys()
        if not made or (any(self.state.ends) and made != kept):
            differ = checks.few(sorted(made ^ kept)) or "nothing"
            raise ValueError(
                f"the pass made {len(made)} wires, the cache keeps {len(kept)}, and they "
                f"differ in {differ}, so it would have a gap; a stage that names wires in "
                f"cached has to run in every pass."
            )

    def commit(self) -> None:
        """Let the tokens count."""
        self.check()
        _, _, _, batch, device, clean = self.state
        clean = clean or self.clears
        self.cache._state = State(self.wires, self.axes, self.later, batch, device, clean)

    def _check_alone(self) -> None:
        # A compiled call runs in one piece, and identities are not known while it is compiled.
        if not is_compiling() and self.cache._state is not self.before:
            raise RuntimeError(
                "the cache was changed by something else while this call was running; give "
                "every task a cache of its own."
            )

    def _memory(self, kept: Tensor | None, new: Tensor, axis: int) -> Tensor:
        """Memory of all tokens kept and room for the new ones, which this call may write to."""
        grows = self.cache.n_slots is None
        if kept is not None and not grows:
            # Autograd needs the memory of earlier calls as it was, and memory that was made in
            # inference mode may be written to only there.
            recorded = kept.requires_grad or (torch.is_grad_enabled() and new.requires_grad)
            outside = not is_compiling() and not torch.is_inference_mode_enabled()
            if self.wraps or recorded or (outside and kept.is_inference()):
                return kept.clone()
            # A new state tells other calls that memory is written to which they may read, and
            # later ones that it may hold numbers of a call that failed.
            wires, axes, ends, batch, device, _ = self.state
            self.cache._state = self.before = State(wires, axes, ends, batch, device, False)
            return kept
        n_before = max(self.state.ends)
        past = [] if kept is None else [kept.narrow(axis, 0, n_before)]
        if grows and self.even:
            return torch.cat([*past, new], dim=axis)
        shape = list(new.shape)
        shape[axis] = self.n_slots
        memory = new.new_zeros(shape)
        for each in past:
            memory.narrow(axis, 0, n_before).copy_(each)
        return memory

    def _clear(self, memory: Tensor, axis: int) -> None:
        """Write zeros over what belongs to no sequence: tokens dropped, or of a failed call."""
        # Shorter sequences read such slots under a mask, where 0 · NaN would be NaN.
        ends, device, ring = self.state.ends, self.state.device, self.cache.ring
        first = min(ends) if ring is None else 0
        position = _slot_positions(ends, self.n_slots, self.n_slots, device)[:, first:]
        gone = position < 0
        if ring is not None:  # and what the next token does not see any more
            gone |= position <= torch.tensor(ends, device=device)[:, None] - ring
        rows = self._by_slot(memory.narrow(axis, first, self.n_slots - first), axis)
        rows.masked_fill_(gone.view(*gone.shape, *[1] * (rows.ndim - 2)), 0)

    def _write(self, memory: Tensor, new: Tensor, axis: int) -> None:
        if self.even and not self.wraps:
            start = self.state.ends[0] % self.n_slots
            memory.narrow(axis, start, self.n_tokens).copy_(new)
            return
        n_sequences, device = len(self.state.ends), self.state.device
        positions = self._rows().expand(n_sequences, -1)
        if self.n_tokens == 1 and self.given is None:  # known without reading a tensor
            sequence = torch.arange(n_sequences, device=device)
            token = torch.zeros_like(sequence)
        else:
            oldest = torch.tensor(self.later, device=device)[:, None] - self.n_slots
            sequence, token = (positions >= oldest.clamp(min=0)).nonzero(as_tuple=True)
        slot = positions[sequence, token] % self.n_slots
        self._by_slot(memory, axis)[sequence, slot] = self._by_slot(new, axis)[sequence, token]

    def _by_slot(self, t: Tensor, axis: int) -> Tensor:
        """Memory as (sequence, slot, …), a view; new numbers as (sequence, token, …)."""
        return t[None].flatten(0, len(self.state.batch)).movedim(axis, 1)

    @property
    def positions(self) -> Tensor:
        """Positions of the call's tokens, ``(*batch, token)``, -1 for padding."""
        return self._by_batch(self._rows()).expand(*self.state.batch, -1)

    def attention_mask(self, mask: Any, n_heads: int = 1) -> Any:
        """Return the mask of the call over all that it sees, the window of the cache in it.

        It is None for a single token that sees all, a predicate where slots are positions or
        only the window matters, and otherwise a tensor ``(*batch, head, token, key)``, in which
        padding neither attends nor is attended to. Raises ``ValueError`` for several tokens
        without a mask or a window, and ``TypeError`` for a tensor under a window.
        """
        rule, ring, device = self.cache.rule, self.cache.ring, self.state.device
        if self.cache.window is None:
            if mask is None and self.n_tokens > 1:  # one alone attends to all that is cached
                raise ValueError(
                    f"{self.n_tokens} tokens came through a cache at once with mask=None, so "
                    f"each would attend to later ones, which it cannot when it comes alone; "
                    f"pass mask=masks.causal, or one token at a time."
                )
        elif isinstance(mask, masks.Predicate):
            # No query sees further than the window: otherwise the numbers would depend on how
            # a text is divided into calls.
            mask = rule if mask in (masks.causal, rule) else mask & rule
        elif mask is not None:
            checks.boolean(mask)
            raise TypeError(
                "mask is a tensor, but under a window no slot has a position of its own; "
                "pass a predicate of mhsa_lib.masks."
            )
        mask = rule if mask is None else mask
        if self.even and (mask is rule or ring is None or max(self.later) <= ring):
            return None if mask is rule and self.n_tokens == 1 else mask
        query, ends = self._rows(), self.state.ends if self.wraps else self.later
        key = _slot_positions(ends, self.n_slots, self.n_used, device)
        if self.wraps:
            key = key.roll(-self.oldest, -1)
            key = torch.cat([key, query.expand(len(key), -1)], dim=-1)
        query = self._by_batch(query)[..., None, :, None]
        key = self._by_batch(key)[..., None, None, :]
        allowed = (query >= 0) & (key >= 0)
        if isinstance(mask, masks.Predicate):
            return allowed & mask(query, key)
        shape = (*self.state.batch, n_heads, self.n_tokens, self.n_seen)
        mask = masks.resolve(mask, shape, allowed.device)
        return allowed & mask

    def _rows(self) -> Tensor:
        """Positions of the call's tokens: (sequence, token), or (1, token) for all."""
        if self.given is not None:
            return self.given.to(self.state.device)
        ends = self.state.ends[:1] if self.even else self.state.ends
        first = torch.tensor(ends, device=self.state.device)[:, None]
        return first + torch.arange(self.n_tokens, device=self.state.device)

    def _by_batch(self, rows: Tensor) -> Tensor:
        """Give one row for every sequence the leading axes of x, or leave one for all."""
        batch = self.state.batch
        leading = batch if len(rows) > 1 else [1] * len(batch)
        return rows.view(*leading, rows.shape[-1])


def whole_numbers(name: str, numbers: Any) -> Tensor:
    """Return whole numbers on the CPU, where reading them waits for no device.

    >>> whole_numbers("order", (1, 0))
    tensor([1, 0])
    """
    return checks.whole_numbers(name, "one for each", numbers, "[0, 1]").cpu().long()


def _continuing(
    given: Tensor, ends: list[int], batch: tuple[int, ...], n_tokens: int
) -> Tensor | None:
    """Return positions that continue every sequence, (sequence, token); None: no padding."""
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


def _slot_positions(ends: list[int], n_slots: int, n_used: int, device: Any) -> Tensor:
    """Return the position in each of the first slots, (sequence, slot); below 0: none."""
    # Of the positions that share a slot, p mod n_slots, it is the last before the end.
    last = torch.tensor(ends, device=device)[:, None] - 1
    return last - (last - torch.arange(n_used, device=device)) % n_slots
