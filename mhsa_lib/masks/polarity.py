"""Masks of ``nn.MultiheadAttention``, in which True means blocked, and ours: True may look."""

from torch import Tensor

from mhsa_lib import checks


def from_torch(mask: Tensor) -> Tensor:
    """From ``nn.MultiheadAttention``'s meaning, True = blocked, to ours, True = may look.

    >>> import torch
    >>> from_torch(torch.tensor([[False, True]]))
    tensor([[ True, False]])
    """
    checks.boolean(mask)
    return ~mask


def to_torch(mask: Tensor) -> Tensor:
    """From our meaning, True = may look, to ``nn.MultiheadAttention``'s, True = blocked.

    >>> from mhsa_lib.masks.predicates import causal
    >>> to_torch(causal.dense(2, 2))
    tensor([[False,  True],
            [False, False]])
    """
    checks.boolean(mask)
    return ~mask
