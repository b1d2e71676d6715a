"""A cache in fewer bits: keys and values are rounded when they are written.

A *scale* says how large one step is. The more numbers share a scale, the less it costs, and the
more a single large number spoils the others.

Source: Micikevicius et al., "FP8 Formats for Deep Learning", arXiv 2209.05433; Liu et al.,
"KIVI", arXiv 2402.02750 (keys by channel, values by token).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_lib import checks

LARGEST_FP8 = 448.0
"""The largest number of E4M3, with 4 bits of exponent and 3 of mantissa."""


class Packed(NamedTuple):
    """Numbers in few bits: ``codes`` times ``scale``, or as they are where that is empty."""

    codes: Tensor
    scale: Tensor
    bits: int

    def unpacked(self) -> Tensor:
        """Return the numbers in float32."""
        numbers = self.codes.float()
        return numbers * self.scale if self.scale.numel() else numbers

    @property
    def n_bits(self) -> int:
        """Bits of all codes, and 16 for every scale."""
        return self.codes.numel() * self.bits + self.scale.numel() * 16


Pack = Callable[[Tensor], Packed]
"""Rounds keys or values, (kv_head, token, d_head)."""


def bfloat16(t: Tensor) -> Packed:
    """Return 16-bit numbers, as most models are trained and served with; they need no scale."""
    return Packed(t.bfloat16(), torch.ones(0), 16)


def fp8(t: Tensor) -> Packed:
    """Return 8-bit floating-point numbers, E4M3, as they are: with the scale 1.

    >>> fp8(torch.tensor([1.0, 1.05, 500.0])).codes.float()
    tensor([  1.,   1., 448.])
    """
    codes = t.clamp(-LARGEST_FP8, LARGEST_FP8).to(torch.float8_e4m3fn)
    return Packed(codes, torch.ones(0), 8)


def whole_numbers(t: Tensor, bits: int, axis: int | tuple[int, ...] = -1) -> Packed:
    """Return whole numbers of 2 to 8 bits; all numbers along ``axis`` share a scale.

    With -1 each token has a scale in every head, with -2 each feature has one for all tokens
    that are written together, and with (-3, -2, -1) there is a single one.

    >>> packed = whole_numbers(torch.tensor([[1.0, -2.0]]), bits=8)
    >>> packed.codes, packed.n_bits
    (tensor([[  64, -127]], dtype=torch.int8), 32)
    """
    if not 2 <= bits <= 8:
        raise ValueError(f"bits={bits}; take 2 to 8, which fit into a byte.")
    most = 2 ** (bits - 1) - 1
    scale = t.abs().amax(axis, keepdim=True).clamp(min=1e-12) / most
    return Packed((t / scale).round().to(torch.int8), scale, bits)


class PackedCache:
    """Keys and values of one request in few bits: packed when written, unpacked when read.

    Parameters
    ----------
    lm : the model whose keys and values are kept
    keys : how keys are packed
    values : how values are packed; as keys when not given

    Examples
    --------
    >>> from mhsa_book import models
    >>> from mhsa_book.models import serving
    >>> lm = models.load("SmolLM2-135M")
    >>> ids = lm.ids("The capital of France is")
    >>> cache = PackedCache(lm, fp8)
    >>> logits = serving.step(lm, [(cache, ids)])[0]
    >>> lm.text([int(logits.argmax())]), cache.n_bytes  # 5 · 30 · 2 · 3 · 64 numbers
    (' Paris', 57600)
    """

    def __init__(self, lm: LanguageModel, keys: Pack, values: Pack | None = None) -> None:
        self._pack = keys, keys if values is None else values
        self._parts: list[list[tuple[Packed, Packed]]] = [[] for _ in range(lm.n_layers)]
        self.n_tokens = 0

    @property
    def n_bytes(self) -> int:
        """Bytes that codes and scales need; 4 bits count as half a byte."""
        packed = [each for parts in self._parts for pair in parts for each in pair]
        return sum(each.n_bits for each in packed) // 8

    def reserve(self, n_new: int) -> None:
        """Check the number of new tokens; the cache grows when they are written."""
        checks.positive(n_new=n_new)

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Pack new keys and values (kv_head, token, d_head), and return all, unpacked."""
        pack_k, pack_v = self._pack
        self._parts[layer].append((pack_k(k), pack_v(v)))
        keys, values = zip(*self._parts[layer], strict=True)
        return _joined(keys), _joined(values)

    def advance(self, ids: Sequence[int]) -> None:
        """Count new tokens, whose keys and values every layer has kept by now."""
        self.n_tokens += len(ids)


def _joined(parts: Sequence[Packed]) -> Tensor:
    return torch.cat([part.unpacked() for part in parts], dim=-2)
