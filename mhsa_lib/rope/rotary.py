"""Rotary positions (RoPE): rows turned by their position.

Every pair of columns of a head is a point in a plane, and token t turns it by the angle
t · base^(-2i/d_head). The dot product of a turned query and a turned key depends on their
distance only. Which columns are a pair is a convention: neighbours (``INTERLEAVED``, the
paper) or the two halves (``HALVES``, Llama's published weights in most libraries).

Source: Su et al., "RoFormer", section 3.4, arXiv 2104.09864.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.rope.pairing import INTERLEAVED, Pairing
from mhsa_lib.rope.stretches import LengthStretch


class Rotary(nn.Module):
    """Turns the rows of a head by their positions. No parameters.

    Parameters
    ----------
    d_rotary : columns that turn, an even number
    base : pair i turns by base^(-2i/d_rotary) radians per token
    pairing : which columns are a pair, ``INTERLEAVED`` or ``HALVES``
    stretch : changes these frequencies, for texts longer than those of training: a function
        of all of them, such as those of ``rope.stretches``. Its ``magnitude``, if it has one,
        is a factor on what is turned

    Examples
    --------
    >>> rotary = Rotary(4)
    >>> row = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    >>> rotary(row, torch.tensor([0])).tolist() == row.tolist()
    True
    >>> quarter = torch.tensor([torch.pi / 2])
    >>> rotary(row, quarter)[0, :2].round(decimals=3).tolist()
    [-0.0, 1.0]
    """

    def __init__(
        self,
        d_rotary: int,
        base: float = 10_000.0,
        pairing: Pairing = INTERLEAVED,
        stretch: Callable[..., Tensor] | None = None,
    ) -> None:
        super().__init__()
        checks.positive(d_rotary=d_rotary)
        if d_rotary % 2:
            raise ValueError(
                f"d_rotary={d_rotary} is odd; columns turn in pairs, try {d_rotary + 1}."
            )
        if getattr(stretch, "base", base) != base:
            raise ValueError(
                f"{stretch} does not fit base={base:g}; make both with the same base."
            )
        self.d_rotary, self.base, self.pairing = d_rotary, base, pairing
        self.stretch = stretch

    def extra_repr(self) -> str:
        stretch = "" if self.stretch is None else f", stretch={self.stretch}"
        return f"{self.d_rotary}, base={self.base:g}, pairing={self.pairing.name}{stretch}"

    def frequencies(
        self,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
        length: Tensor | None = None,
    ) -> Tensor:
        """Radians per token, (pair): 1 for the first pair, ever less after it.

        ``length``, a tensor (…, 1), is asked for by a ``LengthStretch`` only; (…, pair) then.
        """
        pair = torch.arange(self.d_rotary // 2, device=device, dtype=dtype)
        turned = self.base ** (-2 * pair / self.d_rotary)
        if isinstance(self.stretch, LengthStretch):
            length = torch.zeros(1, device=device) if length is None else length
            return self.stretch(turned, length)
        return turned if self.stretch is None else self.stretch(turned)

    def angles(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Radians, (…, seq, pair), in a text that ends with the last of its positions."""
        asked = isinstance(self.stretch, LengthStretch)
        length = positions.amax(dim=-1, keepdim=True)[..., None] + 1 if asked else None
        frequencies = self.frequencies(dtype, positions.device, length)
        return positions.to(dtype)[..., None] * frequencies

    def forward(self, rows: Tensor, positions: Tensor) -> Tensor:
        """``rows`` (…, seq, d_rotary) turned by ``positions`` (…, seq).

        Angles are computed in float32 at least: half precision cannot tell position 4097 from
        4096.
        """
        if rows.shape[-1] != self.d_rotary:
            raise ValueError(
                f"rows are {rows.shape[-1]} wide, shape {tuple(rows.shape)}, but "
                f"d_rotary={self.d_rotary}; the last axis must be d_rotary."
            )
        angles = self.angles(positions, torch.promote_types(rows.dtype, torch.float32))
        cos, sin = angles.cos(), angles.sin()
        magnitude = getattr(self.stretch, "magnitude", 1.0)
        if magnitude != 1.0:
            cos, sin = cos * magnitude, sin * magnitude
        return self.pairing.turn(rows, cos.to(rows.dtype), sin.to(rows.dtype))

    def goes_on(self, positions: Tensor) -> None:
        """Refuse tokens at ``positions`` (…, seq) behind others that would turn otherwise now.

        Only a ``LengthStretch`` can make them: what it turned in a shorter text stands.
        """
        if not isinstance(self.stretch, LengthStretch) or positions.is_meta:
            return
        n = positions.amax(dim=-1, keepdim=True) + 1
        past = positions.where(positions >= 0, n).amin(dim=-1, keepdim=True)
        before, now = (
            self.frequencies(torch.float64, positions.device, length) for length in (past, n)
        )
        changed = ((before != now).any(dim=-1, keepdim=True) & (past > 0)).flatten()
        if changed.any():
            ends = n.flatten()[changed][0].item()
            kept = past.flatten()[changed][0].item()
            raise ValueError(
                f"a text of {kept} tokens goes on to {ends}, where "
                f"{type(self.stretch).__name__} turns all of them otherwise, and those kept "
                f"have been turned; start again with all {ends} in one call."
            )


class PartialRotary(Rotary):
    """Turns the first ``d_rotary`` columns of a head and leaves the others as they are.

    Parameters
    ----------
    d_rotary, base, pairing, stretch : as of ``Rotary``

    Examples
    --------
    >>> PartialRotary(2)(torch.ones(1, 4), torch.tensor([1]))[0, 2:].tolist()
    [1.0, 1.0]
    """

    def forward(self, rows: Tensor, positions: Tensor) -> Tensor:
        """``rows`` (…, seq, columns), of which ``d_rotary`` are turned by ``positions``."""
        turned, still = rows[..., : self.d_rotary], rows[..., self.d_rotary :]
        return torch.cat([super().forward(turned, positions), still], dim=-1)
