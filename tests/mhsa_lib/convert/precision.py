"""How close a conversion comes to its source in each precision."""

import torch
from hypothesis import strategies as st

LIMIT = {torch.float32: 1e-5, torch.float64: 1e-10}
DTYPE = st.sampled_from(sorted(LIMIT, key=str))


def close(found, expected):
    assert found.dtype is expected.dtype
    assert (found - expected).abs().max().item() <= LIMIT[found.dtype]
