"""Everything of ours that makes another attention of the same function, or a sum of them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from mhsa_book import conversions
from mhsa_book.conversions.align import aligned
from mhsa_book.conversions.grouping import key_heads, pooled
from mhsa_book.conversions.pairing import with_pairing
from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_book.conversions.to_plain import unshared
from mhsa_lib import FusedMultiHeadAttention
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.parallel.one_rank import shard_of
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED
from tests.mhsa_lib.convert import foreign


def in_latents(attention: Any) -> nn.Module:
    return conversions.mha_to_latent(attention, attention.d_model)[0]


def in_groups(attention: Any) -> nn.Module:
    return pooled(attention, key_heads(attention))


def turned(attention: Any) -> nn.Module:
    return aligned(attention, key_heads(attention))


class Parts(nn.Module):
    """What the shares of all ranks add up to; heads of three are not shared among two."""

    def __init__(self, attention: Any) -> None:
        super().__init__()
        n = 2 if getattr(attention, "n_heads", 1) % 2 == 0 else 1
        self.parts = nn.ModuleList(shard_of(attention, rank, n) for rank in range(n))

    def forward(self, x: Tensor, *context: Tensor) -> Tensor:
        return sum(part(x, *context) for part in self.parts)


class Pruned(nn.Module):
    """Some heads, and the others: their outputs add up, but for the bias that both have."""

    def __init__(self, attention: Any) -> None:
        super().__init__()
        n = getattr(attention, "n_heads", 2)
        n_kv_heads = getattr(getattr(attention, "split", None), "n_kv_heads", n)
        cut = n // n_kv_heads if n_kv_heads > 1 else 1
        some = [prune_heads(attention, heads) for heads in (range(cut), range(cut, n))]
        self.some = nn.ModuleList(some)

    def forward(self, x: Tensor, *context: Tensor) -> Tensor:
        one, other = self.some
        twice = 0.0 if one.W_O.bias is None else one.W_O.bias
        return one(x, *context) + other(x, *context) - twice


CONVERSIONS: dict[str, Callable[[Any], nn.Module]] = {
    "fused": FusedMultiHeadAttention.from_attention,
    "five stages": lambda fused: FusedMultiHeadAttention.to_attention(fused),
    "fused, of latents": FusedLatentAttention,
    "absorbed": AbsorbedLatentAttention,
    "latent": in_latents,
    "pooled": in_groups,
    "aligned": turned,
    "halves": lambda attention: with_pairing(attention, HALVES),
    "neighbours": lambda attention: with_pairing(attention, INTERLEAVED),
    "collaborative": to_collaborative,
    "unshared": unshared,
    "shares": Parts,
    "pruned": Pruned,
    **foreign.CONVERSIONS,
}
