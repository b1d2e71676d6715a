"""Attention with composed heads and drawn weights."""

from mhsa_lib.variants import ComposedAttention
from tests.helpers.drawn import filled


def attention(d_model=12, n_heads=3, **options):
    return filled(ComposedAttention(d_model, n_heads, **options).double())
