"""Heads removed: those that are not to be kept.

Until W_O no head reads another, and y is a sum over heads. So a head goes with its rows of W_Q,
W_K and W_V and its columns of W_O, and what is left computes what the whole would with the z of
that head at zero. (Rows and columns are those of ``nn.Linear``.)

Source: Michel, Levy and Neubig, section 3, arXiv 1905.10650; Voita et al., section 4, arXiv
1905.09418.
"""

from collections import Counter
from collections.abc import Iterable
from typing import SupportsIndex, TypeVar

from mhsa_lib import checks, copying
from mhsa_lib.attention import MultiHeadAttention

Attention = TypeVar("Attention", bound=MultiHeadAttention)


def prune_heads(attention: Attention, keep: Iterable[SupportsIndex]) -> Attention:
    """Return a copy of ``attention`` with the heads ``keep`` only; d_model and d_head stay.

    ``keep`` holds numbers of heads, from 0, each once; the heads that stay keep their order.
    The output is that of the original with ``z`` of the other heads at zero; b_O stays. A mask
    that tells heads apart has to be cut to the same heads.

    Taken are ``MultiHeadAttention`` and ``GroupedQueryAttention`` with the standard stages,
    also with rotary positions; of a fused attention prune ``to_attention()``. A KV head goes
    with the last of the query heads that read it, and the groups that stay must be of one size.
    Dtype, device, mode and what is frozen come along.

    Raises ``ValueError`` for a keep that is empty, names a head twice or one that is not there,
    or leaves groups of different sizes, and for a stage that is not a standard one or was
    changed; ``TypeError`` for a keep of other things than whole numbers, and for another
    attention.

    >>> import torch
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    >>> small = prune_heads(mha, [0, 2])
    >>> small.n_heads, small.d_head, small.W_O.weight.shape
    (2, 4, torch.Size([12, 8]))
    >>> rest = prune_heads(mha, [1])
    >>> torch.allclose(small(x) + rest(x), mha(x), atol=1e-6)
    True
    """
    why = "may not have heads that can be removed"
    repair = "pass an attention of standard stages (of a fused one its to_attention())"
    copying.check_stages(attention, why, repair, copying.ROTARY)
    heads = checks.heads(keep, attention.n_heads)
    kv_heads = _read_by(heads, attention)
    pruned, d_head = copying.copied(attention), attention.d_head

    def columns(kept: list[int]) -> list[int]:
        return [head * d_head + column for head in kept for column in range(d_head)]

    copying.keep_features(pruned.project.W_Q, 0, columns(heads))
    copying.keep_features(pruned.project.W_K, 0, columns(kv_heads))
    copying.keep_features(pruned.project.W_V, 0, columns(kv_heads))
    copying.keep_features(pruned.W_O, 1, columns(heads))
    for module in (pruned, pruned.split):
        for name, kept in {"n_heads": heads, "n_kv_heads": kv_heads}.items():
            if name in vars(module):
                setattr(module, name, len(kept))
    return pruned


def _read_by(heads: list[int], attention: MultiHeadAttention) -> list[int]:
    """Return the KV heads that query heads read; ``ValueError`` unless each has as many."""
    n_kv_heads = getattr(attention.split, "n_kv_heads", attention.n_heads)
    group = checks.divides(n_heads=attention.n_heads, n_kv_heads=n_kv_heads)
    sizes = Counter(head // group for head in heads)
    # Afterwards query head h reads KV head h // group again, so one size has to fit all.
    if len(set(sizes.values())) > 1:
        left = ", ".join(f"{size} of key head {kv}" for kv, size in sizes.items())
        raise ValueError(
            f"keep={heads} leaves groups of different sizes, query heads {left}; keep as many "
            f"of each, or all of some groups of {group} and none of the others."
        )
    return list(sizes)
