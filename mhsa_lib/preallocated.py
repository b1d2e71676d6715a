"""Keys and values of a fused attention in memory that is taken once, and only written to.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

from typing import Any

import torch

from mhsa_lib import checks
from mhsa_lib.places import Places
from mhsa_lib.shapes import Keys, NewKeys, NewValues, Values


class KeyValueCache:
    """Room for ``length`` tokens of ``batch`` sequences; new ones are written behind the old.

    Made by ``FusedMultiHeadAttention.cache`` and handed to its ``forward``. For inference: a
    pass with it has no gradients, because memory that is written to again keeps none.

    >>> cache = KeyValueCache(batch=2, n_kv_heads=3, length=8, d_head=4)
    >>> cache.bytes, cache.n_tokens
    (1536, 0)
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        length: int,
        d_head: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        checks.positive(batch=batch, n_kv_heads=n_kv_heads, length=length, d_head=d_head)
        self.places = Places(length)
        shape = batch, n_kv_heads, length, d_head
        self.k, self.v = (torch.zeros(shape, dtype=dtype, device=device) for _ in range(2))

    @property
    def n_tokens(self) -> int:
        """Slots in use, those with padding included."""
        return self.places.n_slots

    @property
    def bytes(self) -> int:
        """Memory taken, whether written to or not."""
        return sum(t.numel() * t.element_size() for t in (self.k, self.v))

    def announce(self, positions: Any) -> None:
        """Positions (batch, token) of the next call's tokens, -1 for padding.

        As ``cache.Cache.announce``.
        """
        self.places.announce(positions)

    def forget(self) -> None:
        """Empty the cache; its memory stays."""
        self.places.forget()

    def write(self, k: NewKeys, v: NewValues) -> tuple[Keys, Values]:
        """Write behind the tokens so far; views of all keys and all values.

        What is written counts once ``places.take`` says so. Raises ``ValueError`` for another
        batch, dtype or device.
        """
        for name, new, kept in (("k", k, self.k), ("v", v, self.v)):
            if new.shape[:-2] != kept.shape[:-2]:
                raise ValueError(
                    f"{name} has batch and heads {tuple(new.shape[:-2])}, the cache was made "
                    f"for {tuple(kept.shape[:-2])}; make one with cache(batch, length)."
                )
            if (new.dtype, new.device) != (kept.dtype, kept.device):
                raise ValueError(
                    f"{name} is {new.dtype} on {new.device}, the cache {kept.dtype} on "
                    f"{kept.device}; make the cache after moving the attention."
                )
        start, end = self.n_tokens, self.n_tokens + k.shape[-2]
        self.k[..., start:end, :] = k
        self.v[..., start:end, :] = v
        return self.k[..., :end, :], self.v[..., :end, :]
