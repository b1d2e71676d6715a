"""Mode, dropout, scale and what is frozen come along; weights are copied."""

import pytest
import torch

from mhsa_lib import convert
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import each, source, width


@each
def test_mode_dropout_and_scale_come_along_and_weights_are_copied(kind):
    module = source(kind, attention_dropout=0.25)
    module.scaling = 0.3
    ours, x = convert.from_llama(module), rand(2, 5, width(module))
    assert (ours.attend.dropout.p, ours.attend.scale) == (0.25, 0.3)
    assert not ours.training
    assert convert.from_llama(module.train()).training
    before = ours(x)
    for parameter in module.parameters():
        parameter.data.zero_()
    assert torch.equal(ours(x), before)


@each
@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_frozen_stays_frozen_and_what_learns_learns(kind, recorded):
    module = source(kind).requires_grad_(False)
    with torch.set_grad_enabled(recorded):
        assert not any(p.requires_grad for p in convert.from_llama(module).parameters())
        module.requires_grad_(True)
        assert all(p.requires_grad for p in convert.from_llama(module).parameters())
        module.o_proj.requires_grad_(False)
        learns = {n: p.requires_grad for n, p in convert.from_llama(module).named_parameters()}
    assert {name for name, given in learns.items() if not given} == {
        name for name in learns if name.startswith("W_O.")
    }
