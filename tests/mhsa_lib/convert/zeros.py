"""What a pruned attention is compared with: the whole one, with some heads at zero."""

import torch

from mhsa_lib import edit
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled

LIMIT = {torch.float32: 1e-6, torch.float64: 1e-12}


def with_zeros(attention, keep, *inputs, **options):
    """The whole attention, with z of every head that is not kept at zero."""
    stays = torch.zeros(attention.n_heads, 1, 1)
    stays[list(keep)] = 1
    with edit(attention, "z", lambda z: z * stays.to(z)):
        return attention(*inputs, **options)


def close(found, expected):
    assert found.dtype is expected.dtype
    assert (found - expected).abs().max().item() <= LIMIT[found.dtype] * (
        1 + expected.abs().max().item()
    )


def grouped(n_kv_heads=2, **options):
    return filled(GroupedQueryAttention(12, 6, n_kv_heads, bias=True, **options).double())
