"""A text in pieces: where it is cut, and one call for each piece."""

import torch
from hypothesis import strategies as st

from mhsa_lib.cache import kv_cache


@st.composite
def cuts(draw):
    """Lengths of the calls: 1 to 7 tokens in all."""
    parts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return tuple(parts)


def decode(attention, x, parts, mask, cache=None):
    with kv_cache(attention, cache=cache) as cache:
        found = [attention(part, mask=mask) for part in x.split(parts, dim=-2)]
    return torch.cat(found, dim=-2), cache
