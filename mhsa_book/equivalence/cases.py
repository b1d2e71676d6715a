"""What every implementation in the comparison gets to see: sizes, masks, weights, inputs."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mhsa_lib import masks
from mhsa_lib.attention import MultiHeadAttention


@dataclass(frozen=True)
class Size:
    """One size: batch, queries, keys, width, heads, width of a head, bias."""

    batch: int
    n_query: int
    n_key: int
    d_model: int
    n_heads: int
    d_head: int | None = None
    bias: bool = False


SIZES = (
    Size(2, 6, 6, 12, 3),
    Size(3, 5, 5, 8, 4, bias=True),
    Size(1, 1, 1, 6, 1),
    Size(2, 3, 7, 12, 2, bias=True),
    Size(2, 4, 4, 10, 3, d_head=5),
)


@dataclass(frozen=True)
class Case:
    """Everything an implementation gets to see."""

    attention: MultiHeadAttention
    x: Tensor
    context: Tensor | None
    predicate: masks.Predicate | None

    @property
    def dense(self) -> Tensor | None:
        """The mask as a boolean tensor (batch or 1, 1, query, key)."""
        if self.predicate is None:
            return None
        n_key = (self.x if self.context is None else self.context).shape[1]
        dense = self.predicate.dense(self.x.shape[1], n_key)
        return dense[(None,) * (4 - dense.ndim)]

    @property
    def additive(self) -> Tensor | None:
        """The mask as numbers to add: 0 and -inf."""
        if self.dense is None:
            return None
        return masks.to_additive(self.dense, self.x.dtype)


def mask_kinds(size: Size) -> dict[str, masks.Predicate | None]:
    """The masks of the comparison, by name, for one size."""
    lengths = [max(1, size.n_key - 2 * item) for item in range(size.batch)]
    kinds: dict[str, masks.Predicate | None] = {
        "none": None,
        "causal": masks.causal,
        "window": masks.sliding_window(2),
        "prefix": masks.prefix(2),
        "key padding": masks.key_padding(lengths),
        "causal & key padding": masks.causal & masks.key_padding(lengths),
        "checkerboard": masks.custom(lambda query, key: (query + key) % 2 == 0),
        "one blind query": masks.custom(lambda query, key: (query > 0) & (key >= 0)),
    }
    if size.n_query == size.n_key:
        kinds["padding"] = masks.padding(lengths)
    return kinds


def draw_attention(size: Size, seed: int) -> MultiHeadAttention:
    """Weights of a size, in float64."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        attention = MultiHeadAttention(
            size.d_model, size.n_heads, d_head=size.d_head, bias=size.bias
        )
        for parameter in attention.parameters():
            nn.init.normal_(parameter, std=0.5)
    return attention.double().eval()


def draw_inputs(size: Size, seed: int) -> tuple[Tensor, Tensor | None]:
    """Tokens of a size, and a context if its keys are not as many as its queries."""
    numbers = torch.Generator().manual_seed(seed)
    rows = (size.batch, size.n_query, size.d_model), (size.batch, size.n_key, size.d_model)
    x, context = (torch.randn(r, generator=numbers, dtype=torch.float64) for r in rows)
    return x, None if size.n_query == size.n_key else context
