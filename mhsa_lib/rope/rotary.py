"""Rotary positions (RoPE): a stage around split that turns queries and keys by their position.

Every pair of columns of a head is a point in a plane, and token t turns it by the angle
t · base^(-2i/d_head). The dot product of a turned query and a turned key depends on their
distance only. Which columns are a pair is a convention: neighbours (``INTERLEAVED``, the
paper) or the two halves (``HALVES``, Llama's published weights in most libraries). The weights
of one become those of the other by reordering the rows of W_Q and W_K: ``reordered``.

Source: Su et al., "RoFormer", section 3.4, arXiv 2104.09864.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib import functional as F
from mhsa_lib.rope.stretches import LengthStretch
from mhsa_lib.shapes import KeyRows, Keys, Queries, QueryRows, ValueRows, Values
from mhsa_lib.stages import Stage, Wire


@dataclass(frozen=True)
class Pairing:
    """Which two columns of a head turn together, as the einops pattern of its columns."""

    name: str
    columns: str

    def apart(self, rows: Tensor) -> Tensor:
        """The two coordinates of every pair on a first axis: (two, …, pair)."""
        return rearrange(rows, f"... {self.columns} -> two ... pair", two=2)

    def together(self, coordinates: Tensor) -> Tensor:
        """The inverse of ``apart``."""
        return rearrange(coordinates, f"two ... pair -> ... {self.columns}", two=2)

    def turn(self, rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Every pair of ``rows`` turned in its plane, by the angles of ``cos`` and ``sin``."""
        a, b = self.apart(rows)
        return self.together(torch.stack((a * cos - b * sin, a * sin + b * cos)))


INTERLEAVED = Pairing("interleaved", "(pair two)")
"""Columns 2i and 2i + 1: neighbours, as the paper writes it."""

HALVES = Pairing("halves", "(two pair)")
"""Columns i and i + d_head / 2."""


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
        self, dtype: torch.dtype = torch.float32, device: Any = None, length: Any = None
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


def place(positions: Tensor | None, n_query: int, n_key: int, like: Tensor) -> list[Tensor]:
    """Positions of queries and of keys: as given, or counted from 0, queries the last.

    >>> [places.tolist() for places in place(None, 2, 5, torch.zeros(1))]
    [[3, 4], [0, 1, 2, 3, 4]]
    """
    if positions is not None:
        return [positions, positions]
    key = torch.arange(n_key, device=like.device)
    return [torch.arange(n_key - n_query, n_key, device=like.device), key]


class RotarySplit(Stage):
    """Split into heads, then turn every query and every key by its position.

    Parameters
    ----------
    n_heads : query heads
    rotary : how far which columns turn; its width is d_head, or less for a ``PartialRotary``
    n_kv_heads : heads of keys and values; ``n_heads`` when not given
    q_norm, k_norm : what is done to the columns of every head before it is turned; nothing
        when not given (Qwen3 and Gemma 3 put an RMSNorm here)

    Examples
    --------
    >>> split = RotarySplit(3, Rotary(4))
    >>> q, k, v = split(*[torch.ones(5, 12)] * 3)
    >>> q.shape, torch.allclose(q[0, 0], q[0, 1]), torch.equal(v[0, 0], v[0, 1])
    (torch.Size([3, 5, 4]), False, True)
    """

    wires = ("q_rotated", "k_rotated", "v_heads")
    cached = ("k_rotated", "v_heads")

    def __init__(
        self,
        n_heads: int,
        rotary: Rotary,
        n_kv_heads: int | None = None,
        *,
        q_norm: Any = None,
        k_norm: Any = None,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
        self.n_heads, self.n_kv_heads, self.rotary = n_heads, n_kv_heads, rotary
        self.q_norm: Any = nn.Identity() if q_norm is None else q_norm
        self.k_norm: Any = nn.Identity() if k_norm is None else k_norm
        self.q_heads, self.k_heads = Wire("q_heads", Queries), Wire("k_heads", Keys)

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}, n_kv_heads={self.n_kv_heads}"

    def forward(
        self, q: QueryRows, k: KeyRows, v: ValueRows, positions: Tensor | None = None
    ) -> tuple[Queries, Keys, Values]:
        if positions is not None:
            self.rotary.goes_on(positions)
        query, key = place(positions, q.shape[-2], k.shape[-2], k)
        q = self.q_heads(self.q_norm(F.split_heads(q, self.n_heads)))
        k = self.k_heads(self.k_norm(F.split_heads(k, self.n_kv_heads)))
        return (
            self.rotary(q, query[..., None, :]),
            self.rotary(k, key[..., None, :]),
            F.split_heads(v, self.n_kv_heads),
        )


def reordered(heads: Tensor, old: Pairing, new: Pairing) -> Tensor:
    """The columns of every head so that pairs of ``old`` become pairs of ``new``.

    Applied to the rows of W_Q and W_K, seen as (head, d_head, d_model) and turned so that
    d_head is last, it makes weights for one pairing out of weights for the other.

    >>> reordered(torch.tensor([0, 1, 2, 3]), INTERLEAVED, HALVES).tolist()
    [0, 2, 1, 3]
    """
    return new.together(old.apart(heads))
