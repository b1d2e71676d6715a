"""Whatever the default dtype or device is, the pass is where its tensors are."""

import pytest
import torch

from mhsa_lib import FusedMultiHeadAttention, masks
from tests.mhsa_lib.fused.pairs import LENGTHS, both, rows


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_any_default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        fused = FusedMultiHeadAttention(12, 3)
        for n in (1, 5, 257):
            x = torch.randn(2, n, 12)
            for grad in (False, True):
                with torch.set_grad_enabled(grad):
                    y, expected = fused(x, mask=masks.causal), fused.to_attention()
                    torch.testing.assert_close(
                        y, expected(x, mask=masks.causal), atol=2e-2, rtol=2e-2
                    )
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_default_device_is_not_where_the_pass_is(n):
    fused, attention = both()
    x, _ = rows(n)
    for dtype in (torch.float32, torch.bfloat16):
        fused, attention, x = fused.to(dtype), attention.to(dtype), x.to(dtype)
        with torch.device("meta"):
            y = fused(x, mask=masks.causal)
        torch.testing.assert_close(y, attention(x, mask=masks.causal), atol=0.1, rtol=0.1)
        torch.testing.assert_close(fused(x, mask=masks.causal), y)


def test_it_is_made_and_run_on_the_meta_device():
    with torch.device("meta"):
        fused = FusedMultiHeadAttention(12, 3, bias=True)
        for n in (0, 1, 257):
            assert fused(torch.empty(2, n, 12), mask=masks.causal).is_meta
