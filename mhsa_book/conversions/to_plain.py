"""Overlapping heads as plain attention: wider heads, shared columns written out as copies."""

from typing import Any

from torch.nn.functional import pad

from mhsa_lib import copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import Split
from mhsa_lib.variants.overlapped import OverlappedAttention, OverlappedSplit


def unshared(attention: OverlappedAttention) -> MultiHeadAttention:
    """The same function as plain attention: wider heads, shared columns written out as copies.

    Queries are longer by √(new / old width of a head), for the scale counts all columns now.
    Biases, where a map has one, the dropout and the mode, training or evaluation, stay.
    What is frozen stays frozen. Raises ``TypeError`` for another attention, ``ValueError`` for
    one with a stage that is not its own, or with something added to it.

    >>> import torch
    >>> mha, x = OverlappedAttention(12, 3, overlap=1), torch.randn(5, 12)
    >>> plain = unshared(mha)
    >>> plain.d_head, torch.allclose(plain(x), mha(x), atol=1e-6)
    (6, True)
    """
    why, repair = "is not known to overlap as it should", "keep it as it is"
    own: copying.Classes = {
        "": (OverlappedAttention,),
        "split": (OverlappedSplit,),
        "split.split": (Split,),
    }
    copying.check_modules(attention, copying.STANDARD | own, why, repair)
    overlap, d_head = attention.overlap, attention.d_head
    split, width = attention.split, d_head + 2 * overlap
    if (split.split.n_heads, split.overlap) != (attention.n_heads, overlap):
        raise ValueError(
            f"split makes n_heads={split.split.n_heads} with overlap={split.overlap}, "
            f"but the attention has n_heads={attention.n_heads} with overlap={overlap}; make "
            f"the stages for the same heads."
        )
    plain = MultiHeadAttention(
        attention.d_model,
        attention.n_heads,
        d_head=width,
        d_context=attention.d_context,
        dropout=attention.attend.dropout.p,
    ).to(attention.W_O.weight)
    longer = attention.attend.scale / plain.attend.scale

    def unfolded(rows: Any, factor: float) -> Any:
        if rows is None:
            return None
        columns = pad(rows.detach().movedim(0, -1), (overlap, overlap))
        windows = columns.unfold(-1, width, d_head).flatten(-2).movedim(-1, 0)
        return copying.like(rows, windows * factor)

    for name, factor in (("W_Q", longer), ("W_K", 1.0), ("W_V", 1.0)):
        old, new = getattr(attention.project, name), getattr(plain.project, name)
        copying.copy_linear(new, unfolded(old.weight, factor), unfolded(old.bias, factor))
    copying.copy_linear(plain.W_O, attention.W_O.weight, attention.W_O.bias)
    return plain.train(attention.training)
