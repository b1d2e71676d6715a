"""Rotary positions (RoPE): queries and keys rotated by their position, and the stage for it.

Every pair of dimensions of a head is a point in a plane, and token t rotates it by the angle
t · base^(-2i/d_head). The dot product of a rotated query and a rotated key depends on their
distance only. Which dimensions are a pair is a convention: neighbours (``INTERLEAVED``, the
paper) or the two halves (``HALVES``, Llama's published weights in most libraries).

Source: Su et al., "RoFormer", section 3.4, arXiv 2104.09864.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from mhsa_lib import checks, functional
from mhsa_lib.shapes import KeyRows, Keys, Queries, QueryRows, ValueRows, Values
from mhsa_lib.stages import Stage, Wire


@dataclass(frozen=True)
class Pairing:
    """Which two dimensions of a head rotate together, as the einops pattern of a head."""

    name: str
    columns: str

    def apart(self, rows: Tensor) -> Tensor:
        """Return the two coordinates of every pair on a first axis: (two, …, pair)."""
        return rearrange(rows, f"... {self.columns} -> two ... pair", two=2)

    def together(self, coordinates: Tensor) -> Tensor:
        """The inverse of ``apart``."""
        return rearrange(coordinates, f"two ... pair -> ... {self.columns}", two=2)

    def rotate(self, rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate every pair of ``rows`` in its plane, by the angles of ``cos`` and ``sin``."""
        a, b = self.apart(rows)
        return self.together(torch.stack((a * cos - b * sin, a * sin + b * cos)))


INTERLEAVED = Pairing("interleaved", "(pair two)")
"""Dimensions 2i and 2i + 1: neighbours, as the paper writes it."""

HALVES = Pairing("halves", "(two pair)")
"""Dimensions i and i + d_head / 2."""


def reordered(heads: Tensor, old: Pairing, new: Pairing) -> Tensor:
    """Return heads, d_head last, whose pairs of ``old`` have become pairs of ``new``.

    Applied to the rows of W_Q and W_K it makes weights for one pairing out of the other's.

    >>> reordered(torch.tensor([0, 1, 2, 3]), INTERLEAVED, HALVES).tolist()
    [0, 2, 1, 3]
    """
    return new.together(old.apart(heads))


class Rotary(nn.Module):
    """Rotates the rows of a head by their positions. No parameters.

    Parameters
    ----------
    d_rotary : dimensions that rotate, an even number; with 0 none does
    base : pair i rotates by base^(-2i/d_rotary) radians per token
    pairing : which dimensions are a pair, ``INTERLEAVED`` or ``HALVES``
    scaling : a function of these frequencies for longer texts, see ``rope.scaling``

    Examples
    --------
    >>> row, quarter = torch.tensor([[1.0, 0.0, 1.0, 0.0]]), torch.tensor([torch.pi / 2])
    >>> Rotary(4)(row, quarter)[0, :2].round(decimals=3).tolist()
    [-0.0, 1.0]
    """

    def __init__(
        self,
        d_rotary: int,
        base: float = 10_000.0,
        pairing: Pairing = INTERLEAVED,
        scaling: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        checks.pairs(d_rotary=d_rotary)
        if getattr(scaling, "base", base) != base:
            raise ValueError(
                f"{scaling} does not fit base={base:g}; make both with the same base."
            )
        self.d_rotary, self.base, self.pairing, self.scaling = d_rotary, base, pairing, scaling

    def extra_repr(self) -> str:
        scaling = "" if self.scaling is None else f", scaling={self.scaling}"
        return f"{self.d_rotary}, base={self.base:g}, pairing={self.pairing.name}{scaling}"

    def frequencies(
        self,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> Tensor:
        """Return radians per token, (pair): 1 for the first, less for each one after it."""
        # Computed in each call: a buffer would be cast with the model to half precision, which
        # cannot hold them.
        pair = torch.arange(self.d_rotary // 2, device=device, dtype=dtype)
        plain = self.base ** (-2 * pair / self.d_rotary)
        return plain if self.scaling is None else self.scaling(plain)

    def forward(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Return ``rows`` (…, seq, d_rotary) rotated by ``positions`` (…, seq)."""
        if rows.shape[-1] != self.d_rotary:
            raise ValueError(
                f"rows are {rows.shape[-1]} wide, shape {tuple(rows.shape)}, but "
                f"d_rotary={self.d_rotary}; the last axis must be d_rotary."
            )
        # Angles in float32 at least: half precision cannot tell position 4097 from 4096.
        dtype = torch.promote_types(rows.dtype, torch.float32)
        angles = positions.to(dtype)[..., None] * self.frequencies(dtype, positions.device)
        cos, sin = angles.cos(), angles.sin()
        magnitude = getattr(self.scaling, "magnitude", 1.0)
        # Scaling the two factors is cheaper than scaling the rows: they have no head axis.
        if magnitude != 1.0:
            cos, sin = cos * magnitude, sin * magnitude
        return self.pairing.rotate(rows, cos.to(rows.dtype), sin.to(rows.dtype))


class PartialRotary(Rotary):
    """Rotates the first ``d_rotary`` dimensions of a head and leaves the others as they are.

    >>> PartialRotary(2)(torch.ones(1, 4), torch.tensor([1]))[0, 2:].tolist()
    [1.0, 1.0]
    """

    def forward(self, rows: Tensor, positions: Tensor) -> Tensor:
        first, rest = rows[..., : self.d_rotary], rows[..., self.d_rotary :]
        return torch.cat([super().forward(first, positions), rest], dim=-1)


def token_positions(
    positions: Tensor | None, n_query: int, n_key: int, like: Tensor
) -> list[Tensor]:
    """Return positions of queries and of keys: as given, or counted from 0, queries the last.

    >>> [each.tolist() for each in token_positions(None, 2, 5, torch.zeros(1))]
    [[3, 4], [0, 1, 2, 3, 4]]
    """
    # A cache passes positions only where it feeds queries and keys of the same tokens.
    if positions is not None:
        return [positions, positions]
    key = torch.arange(n_key, device=like.device)
    return [torch.arange(n_key - n_query, n_key, device=like.device), key]


class RotarySplit(Stage):
    """Split into heads, then rotate every query and every key by its position.

    Parameters
    ----------
    n_heads : query heads
    rotary : what rotates a head; its width is d_head, or less for a ``PartialRotary``
    n_kv_heads : heads of keys and values; ``n_heads`` when not given
    q_norm, k_norm : what is done to every head before it is rotated; nothing when not given
        (Qwen3 and Gemma 3 put an RMSNorm here)

    Examples
    --------
    >>> q, k, v = RotarySplit(3, Rotary(4))(*[torch.ones(5, 12)] * 3)
    >>> q.shape, torch.allclose(q[0, 0], q[0, 1]), torch.equal(v[0, 0], v[0, 1])
    (torch.Size([3, 5, 4]), False, True)
    """

    wires = {"q_rotated": Queries, "k_rotated": Keys, "v_heads": Values}
    cached = ("k_rotated", "v_heads")

    def __init__(
        self,
        n_heads: int,
        rotary: Rotary,
        n_kv_heads: int | None = None,
        *,
        q_norm: nn.Module | None = None,
        k_norm: nn.Module | None = None,
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
        query, key = token_positions(positions, q.shape[-2], k.shape[-2], k)
        # The norm comes first, because its gains belong to dimensions and rotation mixes pairs.
        q = self.q_heads(self.q_norm(functional.split_heads(q, self.n_heads)))
        k = self.k_heads(self.k_norm(functional.split_heads(k, self.n_kv_heads)))
        q, k = self.rotary(q, query[..., None, :]), self.rotary(k, key[..., None, :])
        return q, k, functional.split_heads(v, self.n_kv_heads)
