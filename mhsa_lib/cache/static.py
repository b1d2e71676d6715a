"""Caches whose memory is taken once and only written to, and what decodes into them.

A step writes one token and copies nothing of the past, however long that is. Under a window the
memory is a ring and does not grow with the text.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.cache.positions import checked_order, right_padded, same_sequences
from mhsa_lib.cache.ring import RingIndex


class PreallocatedCache:
    """Rows of tokens in memory that is taken once, by name: (batch, heads, slot, width).

    A pass with it has no gradients: memory that is written to again keeps none.

    Parameters
    ----------
    batch : number of sequences
    length : the most tokens of a sequence; None for no end, which takes a window
    rows : for every name the heads and the width of what a token leaves
    window : tokens that a query may look at, its own counted; no more are kept
    dtype, device : of what will be written

    Examples
    --------
    >>> cache = PreallocatedCache(2, 8, {"latent": (1, 6)}, dtype=torch.float16)
    >>> cache
    PreallocatedCache(0 tokens, 192 bytes)
    """

    def __init__(
        self,
        batch: int,
        length: int | None,
        rows: Mapping[str, tuple[int, int]],
        *,
        window: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.ring = RingIndex(batch, length, window)
        with torch.inference_mode(False):  # or it could be written to in that mode only
            self.memory = {
                name: torch.zeros(
                    batch, n, self.ring.n_slots, width, dtype=dtype, device=device
                )
                for name, (n, width) in rows.items()
            }
        self.device = next(iter(self.memory.values())).device

    @property
    def n_tokens(self) -> int:
        """Tokens of the longest sequence so far."""
        return max(self.ring.ends)

    @property
    def lengths(self) -> list[int]:
        """Tokens of every sequence so far, those that a window has forgotten included."""
        return list(self.ring.ends)

    @property
    def bytes(self) -> int:
        """Memory taken, whether written to or not."""
        return sum(t.numel() * t.element_size() for t in self.memory.values())

    def __repr__(self) -> str:
        ring = f" in a ring of {self.ring.n_slots}" if self.ring.window else ""
        return f"{type(self).__name__}({self.n_tokens} tokens{ring}, {self.bytes:,} bytes)"

    def announce(self, positions: Any) -> None:
        """Positions (batch, token) of the next call's tokens; -1 is padding, takes no room.

        It holds for the next call that succeeds, and is refused by one it does not fit; None
        takes it back.
        """
        self.ring.announce(positions)

    def reorder(self, order: Any) -> None:
        """Sequence i goes on from what sequence ``order[i]`` was: a step of beam search.

        Memory is taken for all beams at once: ``cache(batch=n_beams)``, with the prompt given
        once for each, ``prefill(x.expand(n_beams, -1, -1), cache)``; then every step is a
        ``step``, a choice of the best, and ``reorder([0, 0, 2])``.

        ``order`` (batch,) are whole numbers; sequences may be repeated and left out. Only rows
        that change are copied, and of them what was written. Raises ``ValueError`` for a number
        that is no sequence, another count than the batch, an empty cache, and while an
        announcement waits.
        """
        order = checked_order(order, self.ring.sequences)
        if len(order) != self.ring.batch:
            raise ValueError(
                f"order names {len(order)} sequences, but memory was taken for "
                f"{self.ring.batch}; name as many, or start another cache."
            )
        moved = (order != torch.arange(len(order), device="cpu")).nonzero().flatten()
        n, rows, new = min(self.n_tokens, self.ring.n_slots), order[moved], moved
        for kept in self.memory.values():
            kept[new.to(kept.device), :, :n] = kept[rows.to(kept.device), :, :n]
        self.ring.reorder(order.tolist())

    def forget(self) -> None:
        """Empty the cache; its memory stays."""
        for kept in self.memory.values():
            kept.zero_()
        self.ring.forget()

    def begin(self, x: Tensor, mask: Any) -> None:
        """Begin a call with the tokens of x: does it fit, and where do they stand?

        Raises ``ValueError`` for several tokens without a mask, unless a window hides the
        future from them.
        """
        same_sequences((self.ring.batch,), self.device, tuple(x.shape[:-2]), x.device)
        self.ring.begin(x.shape[-2])
        if self.ring.window is None:
            checks.sees_no_future(mask, x.shape[-2])

    def extend(self, *rows: Tensor) -> list[Tensor]:
        """What the call looks at, its own rows (batch, heads, token, width) included.

        Views of the memory, written to behind the others or over the oldest; copies only for
        tokens that lap a ring, which ``end`` writes. ``ValueError`` for other heads or dtypes.
        """
        for new, (name, kept) in zip(rows, self.memory.items(), strict=True):
            _fits(name, new, kept)
        n, first, self._waiting = self.ring.n_used, self.ring.oldest, rows
        if self.ring.in_place:
            self._write()
            return [kept[:, :, :n] for kept in self.memory.values()]
        if not n:
            return list(rows)
        parts = [(kept[:, :, first:n], kept[:, :, :first]) for kept in self.memory.values()]
        return [torch.cat([*p, new], dim=2) for p, new in zip(parts, rows, strict=True)]

    def may_look(self, mask: Any, n_heads: int) -> Any:
        """The mask of the call over what ``extend`` gave: ``RingIndex.may_look``."""
        return self.ring.may_look(mask, n_heads, self.device)

    def end(self) -> None:
        """End the call: its tokens count from now on."""
        if self._waiting:
            self._write()
        self.ring.take()

    def _write(self) -> None:
        pairs = zip(self._waiting, self.memory.values(), strict=True)
        self._waiting = ()
        if (block := self.ring.block) is not None:
            start, end = block
            for new, kept in pairs:
                kept[:, :, start:end] = new
            return
        sequence, token, slot = self.ring.scatter(self.device)
        for new, kept in pairs:
            kept.transpose(1, 2)[sequence, slot] = new.transpose(1, 2)[sequence, token]


def _fits(name: str, new: Tensor, kept: Tensor) -> None:
    (_, heads, _, width), (_, room, _, wide) = new.shape, kept.shape
    if heads != room or width != wide:
        raise ValueError(
            f"{name} has {heads} heads of {width}, the cache was made for {room} of {wide}; "
            f"make one with cache(batch, length)."
        )
    if new.dtype is not kept.dtype:
        raise ValueError(
            f"{name} is {new.dtype}, the cache {kept.dtype}; make the cache after moving the "
            f"attention, or with cache(…, dtype={new.dtype})."
        )


class KeyValueCache(PreallocatedCache):
    """Keys ``k`` and values ``v`` of every head, (batch, kv_head, slot, d_head).

    Made by ``FusedMultiHeadAttention.cache``.

    >>> cache = KeyValueCache(batch=2, n_kv_heads=3, length=8, d_head=4)
    >>> cache.bytes, cache.n_tokens
    (1536, 0)
    >>> KeyValueCache(batch=2, n_kv_heads=3, length=None, d_head=4, window=2)
    KeyValueCache(0 tokens in a ring of 2, 384 bytes)
    """

    def __init__(
        self, batch: int, n_kv_heads: int, length: int | None, d_head: int, **options: Any
    ) -> None:
        checks.positive(n_kv_heads=n_kv_heads, d_head=d_head)
        sizes = n_kv_heads, d_head
        super().__init__(batch, length, {"k": sizes, "v": sizes}, **options)
        self.k, self.v = self.memory.values()


class Decodes(nn.Module):
    """What every fused attention with a cache can do: take a prompt, then token by token."""

    def prefill(self, x: Tensor, cache: Any, lengths: Any = None) -> Tensor:
        """The prompt, or its next part: x (batch, token, d_model), each token sees its past.

        ``lengths`` are the real tokens of each sequence, the rest of x is padding behind them:
        it takes no room, sees nothing and is seen by none.
        """
        if lengths is None:
            return self(x, mask=cache.ring.rule, cache=cache)
        if cache.ring.waits:
            raise ValueError(
                "positions were announced for this call, and lengths say them too; give one of "
                "the two."
            )
        padded = right_padded(lengths, x.shape[-2])
        start = torch.tensor(cache.lengths, device="cpu")
        if len(padded) != len(start):
            raise ValueError(f"{len(padded)} lengths are given for {len(start)} sequences.")
        cache.announce(torch.where(padded < 0, -1, padded + start[:, None]))
        try:
            return self(x, mask=cache.ring.rule, cache=cache)
        finally:
            cache.announce(None)

    def step(self, x: Tensor, cache: Any) -> Tensor:
        """The next token of every sequence, x (batch, 1, d_model)."""
        if not isinstance(x, Tensor):
            raise TypeError(f"x is a {type(x).__name__}; step(x, cache) takes a tensor first.")
        if x.ndim < 2 or x.shape[-2] != 1:
            raise ValueError(
                f"x {tuple(x.shape)} is not one token for each sequence, (batch, 1, d_model); "
                f"several tokens are for prefill."
            )
        return self(x, mask=cache.ring.rule, cache=cache)
