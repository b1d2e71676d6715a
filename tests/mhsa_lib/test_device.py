"""Where to compute: the fastest device at hand, and the same function on it."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, default_device, masks


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_cuda_comes_before_mps_before_cpu(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert default_device() == torch.device(expected)


def test_five_stages_and_fused_agree_on_the_device_at_hand():
    device = default_device()
    attention, x = MultiHeadAttention(12, 3).to(device), torch.randn(2, 5, 12, device=device)
    fused = FusedMultiHeadAttention.from_attention(attention)
    for mask in (None, masks.causal, masks.padding([5, 3])):
        y = fused(x, mask=mask)
        assert y.device.type == device.type
        assert_close(y, attention(x, mask=mask), atol=1e-4, rtol=1e-4)
