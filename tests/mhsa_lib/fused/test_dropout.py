"""Dropout drops in training, never in eval, and the same weights when computed again."""

import pytest
import torch

from mhsa_lib import masks
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.fused.pairs import both, fuse

MASKS = [
    None,
    masks.causal,
    masks.sliding_window(9),
    masks.padding([300, 200]),
    masks.key_padding([300, 200]),
    masks.custom(lambda query, key: query >= key),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_what_is_computed_again_drops_the_same_weights(mask, n, dtype):
    fused = both(dropout=0.3)[0].to(dtype).train()
    x = torch.randn(2, n, 12).to(dtype)
    torch.manual_seed(1)
    with torch.no_grad():
        first = fused(x, mask=mask)
    torch.manual_seed(1)
    again = fused(x.requires_grad_(), mask=mask)
    assert (first - again).abs().max() <= (1e-5 if dtype is torch.float32 else 0.1)


def test_dropout_is_on_in_training_and_off_in_eval():
    fused, x = fuse(mha(dropout=0.5)), rand(2, 5, 12)
    padded = masks.padding([5, 3]), masks.key_padding([5, 3])
    for mask in (None, masks.causal, masks.sliding_window(3), *padded):
        torch.manual_seed(0)
        assert not torch.equal(fused.train()(x, mask=mask), fused(x, mask=mask))
        assert torch.equal(fused.eval()(x, mask=mask), fused(x, mask=mask))
