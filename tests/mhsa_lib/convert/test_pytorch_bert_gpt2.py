"""What holds for the conversions of PyTorch, BERT and GPT-2 alike."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, convert, masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.sources import bert, gpt2, torchs

SOURCES = {
    "from_torch": torchs,
    "from_bert": bert,
    "from_gpt2": gpt2,
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_converted_module_can_be_fused(name):
    ours, x = getattr(convert, name)(SOURCES[name](3, 4)), rand(2, 5, 12)
    fused = FusedMultiHeadAttention.from_attention(ours)
    assert_close(fused(x, mask=masks.causal), ours(x, mask=masks.causal))


@pytest.mark.parametrize("name", SOURCES)
def test_weights_are_copied_not_shared(name):
    source, x = SOURCES[name](3, 4), rand(2, 5, 12)
    ours = getattr(convert, name)(source)
    before = ours(x)
    for parameter in source.parameters():
        parameter.data.zero_()
    assert torch.equal(ours(x), before)
    assert all(parameter.requires_grad for parameter in ours.parameters())


@pytest.mark.parametrize("name", SOURCES)
def test_the_mode_comes_along(name):
    source = SOURCES[name](3, 4)
    assert not getattr(convert, name)(source).training
    assert getattr(convert, name)(source.train()).training


@pytest.mark.parametrize("name", ["from_bert", "from_gpt2"])
def test_dropout_on_the_weights_comes_along(name):
    assert getattr(convert, name)(SOURCES[name](3, 4)).attend.dropout.p == 0.1


@pytest.mark.parametrize("name", ["from_bert", "from_gpt2"])
def test_the_wrong_module_is_refused_by_name(name):
    words = (
        rf"Linear has no conversion by convert\.{name}; only .*Attention or .* is known "
        "there: pass"
    )
    with pytest.raises(TypeError, match=words):
        getattr(convert, name)(nn.Linear(2, 2))
