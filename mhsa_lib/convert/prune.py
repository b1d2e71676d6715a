"""Heads removed: those that are not to be kept, or those whose gate is closed.

Until W_O no head reads another, and y is a sum over heads. So a head goes with its rows of W_Q,
W_K and W_V and its columns of W_O, and what is left computes what the whole would with the z of
that head at zero. (Rows and columns are those of ``nn.Linear``.)

Source: Michel, Levy and Neubig, section 3, arXiv 1905.10650; Voita et al., section 4, arXiv
1905.09418.
"""

from collections.abc import Iterable
from typing import SupportsIndex, TypeVar

import torch

from mhsa_lib import checks, copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import Wire
from mhsa_lib.variants.gated import GatedAttention, HardConcrete

Attention = TypeVar("Attention", bound=MultiHeadAttention)


def prune_heads(attention: Attention, keep: Iterable[SupportsIndex]) -> Attention:
    """Return a copy of ``attention`` with the heads ``keep`` only; d_model and d_head stay.

    ``keep`` holds numbers of heads, from 0, each once. Their order says nothing: the heads that
    stay keep the order that they have, and ``n_heads`` becomes their number. The output is that
    of the original with ``z`` of the other heads at zero; b_O stays. A mask that tells heads
    apart has to be cut to the same heads.

    Taken are ``MultiHeadAttention`` and ``GroupedQueryAttention`` with the standard stages,
    also with rotary positions. A head of keys and values goes with the last of the query heads
    that read it, and the groups that stay must be of one size. Dtype, device, mode and what is
    frozen come along. Of a fused attention prune the five stages:
    ``FusedMultiHeadAttention.from_attention(prune_heads(fused.to_attention(), keep))``; of a
    gated one ``ungated`` removes what is closed.

    Raises ``ValueError`` for a keep that is empty, names a head twice or one that is not there,
    or leaves groups of different sizes, and for a stage that is not a standard one or to which
    something was added; ``TypeError`` for a keep that holds no whole numbers (a mask of
    booleans, say), and for another attention.

    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    >>> small = prune_heads(mha, [0, 2])
    >>> small.n_heads, small.d_head, small.W_O.weight.shape
    (2, 4, torch.Size([12, 8]))
    >>> rest = prune_heads(mha, [1])
    >>> torch.allclose(small(x) + rest(x), mha(x), atol=1e-6)
    True
    """
    copying.check_stages(attention, _WHY, _REPAIR, copying.ROTARY)
    heads = checks.heads(keep, attention.n_heads)
    kv_heads = _read_by(heads, attention)
    pruned, d_head = copying.copied(attention), attention.d_head
    columns = [range(head * d_head, (head + 1) * d_head) for head in range(attention.n_heads)]
    of_queries, of_keys = ([i for h in kept for i in columns[h]] for kept in (heads, kv_heads))
    copying.keep_features(pruned.project.W_Q, 0, of_queries)
    copying.keep_features(pruned.project.W_K, 0, of_keys)
    copying.keep_features(pruned.project.W_V, 0, of_keys)
    copying.keep_features(pruned.W_O, 1, of_queries)
    for module in (pruned, pruned.split):
        for name, kept in {"n_heads": heads, "n_kv_heads": kv_heads}.items():
            if name in vars(module):
                setattr(module, name, len(kept))
    return pruned


def ungated(attention: GatedAttention) -> MultiHeadAttention:
    """Return gated attention as plain: heads with a gate of 0 are gone, others are in W_O.

    It computes what the gated one does in evaluation mode: its columns of W_O are multiplied
    with the gate of their head. What is frozen stays frozen. Raises ``TypeError`` for another
    attention and ``ValueError`` in training mode, where gates are drawn again in every pass, if
    all gates are closed, and as ``prune_heads`` does.

    >>> gated, x = GatedAttention(12, 3).eval(), torch.randn(2, 5, 12)
    >>> gated.gate.log_alpha.data[1] = -3.0
    >>> gated.gates().tolist()
    [1.0, 0.0, 1.0]
    >>> ungated(gated).n_heads, torch.allclose(ungated(gated)(x), gated(x), atol=1e-6)
    (2, True)
    """
    copying.check_stages(attention, "has no form without gates", "keep the gates", _GATED)
    copying.check_shape("gate.log_alpha", attention.gate.log_alpha, (attention.n_heads,))
    if attention.gate.training:
        raise ValueError(
            "gate is in training mode, where gates are drawn again in every pass; call eval() "
            "first."
        )
    gates = attention.gates().detach()
    opened = gates.nonzero().flatten().tolist()
    if not opened:
        raise ValueError(
            f"all {len(gates)} gates are closed, and an attention without a head is none; "
            f"leave one open: set its gate.log_alpha to 3, or weigh the penalty less."
        )
    names = "project", "split", "attend", "concat", "W_O"  # all stages but the gate
    stages = {name: copying.copied(getattr(attention, name)) for name in names}
    sizes = attention.d_model, attention.n_heads
    plain = MultiHeadAttention(*sizes, d_head=attention.d_head, **stages)
    with torch.no_grad():
        plain.W_O.weight.mul_(gates.repeat_interleave(attention.d_head))
    return prune_heads(plain.train(attention.training), opened)


_WHY = "may not have heads that can be removed"
_REPAIR = (
    "pass an attention of standard stages (of a fused one its to_attention(), of a gated one "
    "what convert.prune.ungated makes)"
)

_GATED: copying.Classes = copying.ROTARY | {
    "": (GatedAttention,),
    "gate": (HardConcrete,),
    "gate.gates": (Wire,),
}


def _read_by(heads: list[int], attention: MultiHeadAttention) -> list[int]:
    """Return the KV heads that query heads read; ``ValueError`` unless each has as many."""
    n_kv_heads = getattr(attention.split, "n_kv_heads", attention.n_heads)
    group = checks.divides(n_heads=attention.n_heads, n_kv_heads=n_kv_heads)
    readers = {kv: [h for h in heads if h // group == kv] for kv in range(n_kv_heads)}
    readers = {kv: some for kv, some in readers.items() if some}
    sizes = {kv: len(some) for kv, some in readers.items()}
    least, most = min(sizes.values()), max(sizes.values())
    if least < most:
        fewer = [head for some in readers.values() for head in some[:least]]
        more = []
        for kv, some in readers.items():
            others = [h for h in range(kv * group, (kv + 1) * group) if h not in some]
            more += sorted(some + others[: most - len(some)])
        left = ", ".join(f"{size} of key head {kv}" for kv, size in sizes.items())
        raise ValueError(
            f"keep={heads} leaves groups of different sizes, query heads {left}; keep as many "
            f"of each: {fewer} or {more}, or all of some groups and none of the others."
        )
    return list(readers)
