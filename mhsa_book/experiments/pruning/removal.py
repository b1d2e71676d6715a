"""Heads of a translator removed for good, and a new translator of the same shape.

``convert.prune.prune_heads`` removes some heads of an attention and refuses to remove all,
because an attention without a head is none. Here a whole attention may go: ``Headless`` stands
in its place and adds what the attention would with every z at zero, its b_O, or nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.experiments.translation import KINDS, Head, heads_of
from mhsa_book.experiments.translation.learning import untrained
from mhsa_book.transformer import EncoderDecoder
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert import prune

SHAPE_SEEDS = 3_000_000
"""Added to a seed for attentions made anew, so that embeddings do not share their numbers."""


class Headless(nn.Module):
    """What is left of an attention without heads: b_O for every token, or zero.

    >>> Headless(MultiHeadAttention(12, 3))(torch.ones(2, 5, 12)).any().item()
    False
    """

    n_heads = 0

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.d_model = attention.d_model
        bias = attention.W_O.bias
        self.b_O = None if bias is None else nn.Parameter(bias.detach().clone())

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Any = None) -> Tensor:
        zero = torch.zeros_like(x)
        return zero if self.b_O is None else zero + self.b_O


def removed(model: EncoderDecoder, keep: Iterable[Head]) -> EncoderDecoder:
    """A copy of a model with the heads ``keep`` only, which can be trained.

    It computes what the model does with the ``z`` of the others at zero. Raises ``ValueError``
    for a head that the model does not have, and for one that is named twice.

    >>> model = untrained(seed=0)
    >>> few = removed(model, heads_of(model, "cross-attention")[:3])
    >>> few.decoder[0].cross_attention.n_heads, few.encoder[0].self_attention.n_heads
    (3, 0)
    """
    keep = list(keep)
    known = heads_of(model)
    for head in keep:
        if head not in known or keep.count(head) > 1:
            raise ValueError(
                f"keep names {head} {keep.count(head)} times; the model has {known}: name "
                f"heads of these, each once."
            )
    small = deepcopy(model)
    for path in paths(model):
        attention: Any = model.get_submodule(path)
        heads = [head.head for head in keep if head.path == path]
        small.set_submodule(
            path, prune.prune_heads(attention, heads) if heads else Headless(attention)
        )
    return small.requires_grad_(True)


def counts(heads: Iterable[Head]) -> dict[str, int]:
    """How many of some heads each attention has, by its path.

    >>> counts([Head("cross-attention", 1, 3), Head("cross-attention", 1, 0)])
    {'decoder.1.cross_attention': 2}
    """
    return dict(Counter(head.path for head in heads))


def shaped(sizes: Mapping[str, int], seed: int) -> EncoderDecoder:
    """An untrained translator with so many heads in the attentions named, and none elsewhere.

    >>> few = shaped({"decoder.1.cross_attention": 2}, seed=0)
    >>> len(heads_of(few)), few.decoder[1].cross_attention.W_O.weight.shape
    (2, torch.Size([64, 32]))
    """
    model = untrained(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SHAPE_SEEDS + seed)
        for path in paths(model):
            whole: Any = model.get_submodule(path)
            few: nn.Module = Headless(whole)
            if n_heads := sizes.get(path, 0):
                few = MultiHeadAttention(whole.d_model, n_heads, d_head=whole.d_head)
            model.set_submodule(path, few)
    return model


def paths(model: EncoderDecoder) -> tuple[str, ...]:
    """Where the attentions of a model are found, in the order of its heads.

    >>> paths(untrained(seed=0))[-1]
    'decoder.1.cross_attention'
    """
    layers = range(len(model.encoder))
    return tuple(KINDS[kind].format(layer) for kind in KINDS for layer in layers)
