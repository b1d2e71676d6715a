"""Both pairings, in turn or drawn, and positions."""

import pytest
import torch
from hypothesis import strategies as st

from mhsa_lib.rope.rotary import HALVES, INTERLEAVED

PAIRINGS = {pairing.name: pairing for pairing in (INTERLEAVED, HALVES)}
each = pytest.mark.parametrize("pairing", PAIRINGS.values(), ids=PAIRINGS)
drawn = st.sampled_from([INTERLEAVED, HALVES])


def at(*positions):
    return torch.tensor(positions)
