"""Fused attentions with one, two and all heads of keys and values, and their decoding."""

from functools import partial

import pytest
import torch
from torch import testing

from mhsa_lib import FusedMultiHeadAttention
from tests.helpers.drawn import filled

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)

KV_HEADS = {"plain": 6, "grouped": 2, "multi-query": 1}
each = pytest.mark.parametrize("fused", KV_HEADS, indirect=True)


def build(kind):
    fused = FusedMultiHeadAttention(12, 6, n_kv_heads=KV_HEADS[kind], d_head=5, bias=True)
    return filled(fused).double().eval()


def decode(fused, x, parts, mask, cache):
    found = [fused(part, mask=mask, cache=cache) for part in x.split(tuple(parts), dim=1)]
    return torch.cat(found, dim=1)
