"""Rotary weights for another pairing of columns: rows of W_Q and W_K reordered.

This is what happened to Llama's weights on their way from neighbouring columns to halves.
"""

from mhsa_book.conversions.grouping import by_head
from mhsa_book.conversions.merging import write
from mhsa_lib import copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Pairing, RotarySplit, reordered


def with_pairing(attention: MultiHeadAttention, pairing: Pairing) -> MultiHeadAttention:
    """The same function with other columns turning together: W_Q and W_K reordered to fit.

    This is what happens to Llama's weights on their way from neighbouring columns to halves.
    Raises ``ValueError`` if the split has no rotary positions.

    >>> import torch
    >>> from mhsa_lib.rope import HALVES, INTERLEAVED, Rotary
    >>> mha = MultiHeadAttention(12, 3, split=RotarySplit(3, Rotary(4, pairing=HALVES)))
    >>> x = torch.randn(5, 12)
    >>> torch.allclose(with_pairing(mha, INTERLEAVED)(x), mha(x), atol=1e-6)
    True
    """
    copying.check_stages(
        attention,
        "may not turn as it should",
        "do this before you replace that stage",
        copying.ROTARY,
    )
    if not isinstance(attention.split, RotarySplit):
        raise ValueError(
            f"split={type(attention.split).__name__} turns no columns; pass an attention with "
            f"a RotarySplit."
        )
    attention = copying.copied(attention)
    split, project = attention.split, attention.project
    old, split.rotary.pairing = split.rotary.pairing, pairing
    for W in (project.W_Q, project.W_K):
        heads = by_head(W, attention.d_head)
        write(W, reordered(heads.mT, old, pairing).mT)
    for norm in (split.q_norm, split.k_norm):
        for parameter in norm.parameters():
            parameter.data.copy_(reordered(parameter.data, old, pairing))
    return attention
