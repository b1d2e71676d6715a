"""Rotary positions for a kernel: cosines and sines are kept in a table for all layers.

Source: Su et al., "RoFormer", section 3.4.2, arXiv 2104.09864.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.execution_mode import is_eager, is_unmodified
from mhsa_lib.rope.rotary import HALVES, Pairing, Rotary
from mhsa_lib.shapes import Heads

FEWEST = 1024
"""Positions in the smallest table; the next are each twice as long."""


def rotated(rotary: Any, heads: Heads, positions: Any) -> Heads:
    """Return heads as ``rotary`` rotates them; ``positions`` is the first, or all (…, token).

    >>> heads, rotary = torch.randn(3, 2, 4), Rotary(4)
    >>> torch.allclose(rotated(rotary, heads, 7), rotary(heads, torch.tensor([7, 8])))
    True
    """
    if isinstance(positions, Tensor) and positions.ndim:  # torch.jit.trace makes it of sizes
        return rotary(heads, positions[..., None, :])
    end = positions + heads.shape[-2]
    # Only our own scalings are known to give the same frequencies every time, and only plain
    # numbers may be kept for a later call.
    known = rotary.scaling is None or type(rotary.scaling).__module__.startswith("mhsa_lib.")
    known = known and is_unmodified(rotary, Rotary) and rotary.d_rotary == heads.shape[-1]
    if not (known and type(heads) is Tensor and is_eager() and positions >= 0):
        return rotary(heads, torch.arange(positions, end, device=heads.device))
    settings = rotary.d_rotary, rotary.base, rotary.pairing, rotary.scaling
    n = max(FEWEST, 1 << (end - 1).bit_length())
    own, other = (t[positions:end] for t in _table(n, heads.dtype, heads.device, *settings))
    return torch.addcmul(heads * own, _exchanged(heads, rotary.pairing), other)


def _exchanged(heads: Heads, pairing: Pairing) -> Heads:
    """Exchange the two coordinates of every pair."""
    if pairing == HALVES:  # one operation, where einops needs several
        return heads.roll(heads.shape[-1] // 2, -1)
    return pairing.together(pairing.apart(heads).flip(0))


@lru_cache(maxsize=4)
def _table(
    n: int,
    dtype: torch.dtype,
    device: torch.device,
    d_rotary: int,
    base: float,
    pairing: Pairing,
    scaling: Any,
) -> tuple[Tensor, Tensor]:
    """Return the factors of each dimension and of the other of its pair, (token, d_rotary)."""
    # What is kept may be used by a call with gradients, even if this one has none.
    with torch.inference_mode(False), torch.no_grad():
        one = torch.ones(n, d_rotary // 2, dtype=dtype, device=device)
        unit = pairing.together(torch.stack((one, torch.zeros_like(one))))
        # What a rotation makes of (1, 0) is its cosine and its sine.
        turned = Rotary(d_rotary, base, pairing, scaling)(unit, torch.arange(n, device=device))
        cos, sin = pairing.apart(turned)
        own, other = torch.stack((cos, cos)), torch.stack((-sin, sin))
        return pairing.together(own), pairing.together(other)
