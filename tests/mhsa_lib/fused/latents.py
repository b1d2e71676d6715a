"""Latent attentions of every kind, in float64, and their fused forms."""

from functools import partial

import pytest
from hypothesis import strategies as st
from torch import testing

from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.variants import LatentAttention
from tests.helpers.drawn import filled

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)

KINDS = {
    "plain": {},
    "latent queries": {"d_q_latent": 7, "bias": True},
    "no position": {"d_rope": 0},
    "wide values": {"d_head": 9, "d_nope": 3},
    "narrow values": {"d_head": 2, "d_nope": 5},
}
each = pytest.mark.parametrize("kind", KINDS)
kinds = st.sampled_from(list(KINDS))


def build(kind):
    attention = LatentAttention(12, 3, **{"d_latent": 5, "d_rope": 4} | KINDS[kind])
    return filled(attention).double().eval()


def fuse(attention):
    return FusedLatentAttention.from_attention(attention)
