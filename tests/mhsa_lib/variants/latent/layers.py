"""Latent attention with drawn weights and of drawn widths."""

import torch
from hypothesis import strategies as st

from mhsa_lib.variants import LatentAttention
from tests.helpers.drawn import filled


def latent(*sizes, **options) -> LatentAttention:
    """In float64, with biases and gains that are far from where they start."""
    return filled(LatentAttention(*sizes, **options).double())


@st.composite
def cases(draw):
    """An attention of any widths, and how it was built."""
    torch.manual_seed(draw(st.integers(0, 10_000)))
    size = st.integers(1, 5)
    sizes = {
        "d_model": draw(st.integers(5, 9)),
        "n_heads": draw(st.integers(1, 3)),
        "d_latent": draw(size),
        "d_rope": 2 * draw(st.integers(0, 2)),
    }
    widths = {
        "d_q_latent": draw(st.none() | size),
        "d_head": draw(size),
        "d_nope": draw(st.none() | size),
    }
    return latent(**sizes, **widths, bias=draw(st.booleans())), sizes | widths
