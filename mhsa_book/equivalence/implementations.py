"""Every implementation of the comparison table, ours and other people's; each runs one case.

An implementation that cannot express a case raises ``NotApplicableError``, which says why.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book import naive
from mhsa_book.equivalence import peers
from mhsa_book.equivalence.cases import Case
from mhsa_lib import masks
from mhsa_lib.convert.bert import from_bert
from mhsa_lib.convert.gpt2 import from_gpt2
from mhsa_lib.convert.pytorch import from_torch
from mhsa_lib.fused.attention import FusedMultiHeadAttention


def implementations() -> dict[str, Callable[[Case], Tensor]]:
    """Every implementation of the comparison table, by name; each runs one case."""
    return {
        "loops": by_loops,
        "list of heads": lambda c: naive.ListOfHeads(c.attention)(c.x, c.context, c.dense),
        "five stages": lambda c: c.attention(c.x, c.context, c.predicate),
        "five stages, boolean mask": lambda c: c.attention(c.x, c.context, c.dense),
        "fused": lambda c: _fused(c)(c.x, c.context, c.predicate),
        "fused, boolean mask": lambda c: _fused(c)(c.x, c.context, c.dense),
        "fused, additive mask converted": lambda c: _fused(c)(
            c.x, c.context, None if c.additive is None else masks.from_additive(c.additive)
        ),
        "nn.MultiheadAttention, weights": lambda c: _torch(c, need_weights=True),
        "nn.MultiheadAttention, no weights": lambda c: _torch(c, need_weights=False),
        "nn.MultiheadAttention, fast path": lambda c: _torch_fast(c),
        "converted from torch": lambda c: from_torch(peers.torch_module(c.attention))(
            c.x, c.context, c.predicate
        ),
        "BERT layer": _bert,
        "converted from BERT": lambda c: from_bert(peers.bert_module(c.attention))(
            c.x, c.context, c.predicate
        ),
        "GPT-2 layer": _gpt2,
        "converted from GPT-2": lambda c: from_gpt2(peers.gpt2_module(c.attention))(
            c.x, c.context, c.predicate
        ),
    }


FOREIGN = {
    "nn.MultiheadAttention, weights",
    "nn.MultiheadAttention, no weights",
    "nn.MultiheadAttention, fast path",
    "BERT layer",
    "GPT-2 layer",
}


def by_loops(case: Case) -> Tensor:
    """The definition, number by number: what all others are compared with."""
    return naive.loops(case.attention, case.x, case.context, case.dense)


def _fused(case: Case) -> FusedMultiHeadAttention:
    return FusedMultiHeadAttention.from_attention(case.attention)


def _torch(case: Case, *, need_weights: bool) -> Tensor:
    module, blocked = peers.torch_module(case.attention), None
    context = case.x if case.context is None else case.context
    if case.dense is not None:
        shape = (len(case.x), module.num_heads, case.x.shape[1], context.shape[1])
        blocked = masks.to_torch(case.dense).expand(shape).flatten(end_dim=1)
    return module(case.x, context, context, attn_mask=blocked, need_weights=need_weights)[0]


def _torch_fast(case: Case) -> Tensor:
    _self_only(case)
    if case.attention.n_heads % 2:
        raise peers.NotApplicableError("even n_heads only")
    if case.attention.W_O.bias is None:
        raise peers.NotApplicableError("needs biases")
    with torch.no_grad():
        return _torch(case, need_weights=False)


def _bert(case: Case) -> Tensor:
    _self_only(case)
    module = peers.bert_module(case.attention)
    return module.output.dense(module.self(case.x, attention_mask=_finite(case))[0])


def _gpt2(case: Case) -> Tensor:
    _self_only(case)
    module, n = peers.gpt2_module(case.attention), case.x.shape[1]
    looks_ahead = ~masks.causal.dense(n, n)
    if case.dense is None or n == 1 or (case.dense & looks_ahead).any():
        raise peers.NotApplicableError("always causal")
    return module(case.x, attention_mask=_finite(case))[0]


def _self_only(case: Case) -> None:
    if case.context is not None:
        raise peers.NotApplicableError("self-attention only")


def _finite(case: Case) -> Tensor | None:
    """The additive mask as Hugging Face writes it: the lowest finite number for -inf."""
    if case.additive is None:
        return None
    return case.additive.clamp(min=torch.finfo(case.x.dtype).min)
