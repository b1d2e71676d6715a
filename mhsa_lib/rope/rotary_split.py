"""The stage ``split`` with rotary positions: queries and keys are turned after they are cut."""

from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, functional
from mhsa_lib.rope.rotary import Rotary
from mhsa_lib.shapes import KeyRows, Keys, Queries, QueryRows, ValueRows, Values
from mhsa_lib.stages import Stage, Wire


def token_positions(
    positions: Tensor | None, n_query: int, n_key: int, like: Tensor
) -> list[Tensor]:
    """Positions of queries and of keys: as given, or counted from 0, queries the last.

    >>> [each.tolist() for each in token_positions(None, 2, 5, torch.zeros(1))]
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
        if positions is not None:
            self.rotary.goes_on(positions)
        query, key = token_positions(positions, q.shape[-2], k.shape[-2], k)
        q = self.q_heads(self.q_norm(functional.split_heads(q, self.n_heads)))
        k = self.k_heads(self.k_norm(functional.split_heads(k, self.n_kv_heads)))
        return (
            self.rotary(q, query[..., None, :]),
            self.rotary(k, key[..., None, :]),
            functional.split_heads(v, self.n_kv_heads),
        )
