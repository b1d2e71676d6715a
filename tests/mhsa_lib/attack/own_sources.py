"""Our own attentions, and everything of ours that makes another one of the same function."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book import conversions
from mhsa_book.conversions.align import aligned
from mhsa_book.conversions.grouping import key_heads, pooled
from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_book.conversions.to_plain import unshared
from mhsa_lib import FusedMultiHeadAttention
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.parallel.one_rank import shard_of
from tests.mhsa_lib.attack import attentions
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.sources import Source


class Sum:
    """Attentions whose outputs add up, as the shares of all ranks do."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts, self.training = parts, parts[0].training

    def __call__(self, x: Tensor, mask: Any = None) -> Tensor:
        return sum(part(x, mask=mask) for part in self.parts)

    def parameters(self) -> Any:
        return (parameter for part in self.parts for parameter in part.parameters())


def to_five_stages(module: Any) -> Any:
    return module.to_attention()


def shares(module: Any) -> Any:
    n = module.n_heads
    ranks = next((r for r in (2, 3) if n % r == 0), 1)
    return Sum([shard_of(module, rank, ranks) for rank in range(ranks)])


def pruned(module: Any) -> Any:
    """Heads of every second group, and the others, which leave the bias to them."""
    n = module.n_heads
    group = n // getattr(module.split, "n_kv_heads", n)
    some = [head for head in range(n) if head // group % 2 == 0]
    others = [head for head in range(n) if head not in some]
    parts = [prune_heads(module, heads) for heads in (some, others) if heads]
    for part in parts[1:]:
        if part.W_O.bias is not None:
            torch.nn.init.zeros_(part.W_O.bias)
    return Sum(parts)


SHARED = ("plain", "grouped", "rotary", *attentions.STAGED)
OURS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "from_attention": (
        FusedMultiHeadAttention.from_attention,
        ("plain", "grouped", "rotary", *attentions.STAGED),
    ),
    "to_attention": (to_five_stages, ("fused", "fused latent")),
    "pooled": (
        lambda m: pooled(m, key_heads(m)),
        ("plain", "grouped", "rotary", *attentions.STAGED),
    ),
    "aligned": (
        lambda m: aligned(m, key_heads(m)),
        ("plain", "grouped", "rotary", *attentions.STAGED),
    ),
    "mha_to_latent": (
        lambda m: conversions.mha_to_latent(m, m.d_model)[0],
        ("plain", "plain", *attentions.STAGED),
    ),
    "to_collaborative": (to_collaborative, ("plain", "plain", *attentions.STAGED)),
    "share": (shares, ("plain", "grouped", "rotary", "fused", *attentions.STAGED)),
    "pruned": (pruned, ("plain", "grouped", "rotary", *attentions.STAGED)),
    "unshared": (unshared, ("overlapped", "overlapped", "plain")),
    "absorbed": (AbsorbedLatentAttention, ("latent", "latent", *attentions.STAGED)),
    "fused latent": (FusedLatentAttention, ("latent", "latent", *attentions.STAGED)),
}


def of_ours(draw: Draw) -> Source:
    name = draw.one(tuple(OURS))
    make, kinds = OURS[name]
    options = {"dropout": draw.one((0.0, 0.0, 0.2))}
    kind = draw.one(kinds)
    m = attentions.drawn(draw, kind, **({} if "fused" in kind else options))
    return Source(name, m, m.d_model, lambda x: m(x), lambda: make(m), None, 1e-7)
