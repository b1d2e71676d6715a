"""Rotary positions for a kernel: the factors of consecutive positions are made once.

All layers of a model rotate by the same angles, so that a step of decoding computes them in
its first layer, and the others find them.

Source: Su et al., "RoFormer", section 3.4.2, arXiv 2104.09864.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.execution_mode import is_eager, is_unmodified
from mhsa_lib.rope.rotary import HALVES, Pairing, Rotary
from mhsa_lib.shapes import Heads


def rotated(rotary: Any, heads: Heads, positions: Any) -> Heads:
    """Return heads as ``rotary`` rotates them; ``positions`` is the first, or all (…, token).

    >>> heads = torch.randn(3, 2, 4)
    >>> turned = Rotary(4, pairing=HALVES)(heads, torch.tensor([7, 8]))
    >>> torch.allclose(rotated(Rotary(4, pairing=HALVES), heads, 7), turned, atol=1e-6)
    True
    """
    n = heads.shape[-2]
    if isinstance(positions, Tensor):
        return rotary(heads, positions[..., None, :])
    # Only our own scalings are known to give the same frequencies every time, and only plain
    # numbers may be kept for a later call.
    known = rotary.scaling is None or type(rotary.scaling).__module__.startswith("mhsa_lib.")
    known = known and is_unmodified(rotary, Rotary) and rotary.d_rotary == heads.shape[-1]
    if not (known and type(heads) is Tensor and is_eager()):
        return rotary(heads, torch.arange(positions, positions + n, device=heads.device))
    settings = rotary.d_rotary, rotary.base, rotary.pairing, rotary.scaling
    cos, sin = _factors(*settings, positions, n, heads.dtype, heads.device)
    return torch.addcmul(heads * cos, _exchanged(heads, rotary.pairing), sin)


def _exchanged(heads: Heads, pairing: Pairing) -> Heads:
    """Exchange the two coordinates of every pair."""
    if pairing is HALVES:  # one operation, where einops needs several
        return heads.roll(heads.shape[-1] // 2, -1)
    return pairing.together(pairing.apart(heads).flip(0))


@lru_cache(maxsize=4)
def _factors(
    d_rotary: int,
    base: float,
    pairing: Pairing,
    scaling: Any,
    first: int,
    n: int,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """Return the factors of each dimension and of the other of its pair, (token, d_rotary)."""
    # What is kept may be used by a call with gradients, even if this one has none.
    with torch.inference_mode(False), torch.no_grad():
        one = torch.ones(n, d_rotary // 2, dtype=dtype, device=device)
        unit = pairing.together(torch.stack((one, torch.zeros_like(one))))
        positions = torch.arange(first, first + n, device=device)
        # What a rotation makes of (1, 0) is its cosine and its sine.
        turned = Rotary(d_rotary, base, pairing, scaling)(unit, positions)
        cos, sin = pairing.apart(turned)
        own, other = torch.stack((cos, cos)), torch.stack((-sin, sin))
        return pairing.together(own), pairing.together(other)
