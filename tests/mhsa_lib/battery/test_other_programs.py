"""Called as other libraries are, or recorded by older tools: right, or told what helps."""

import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, masks
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.variants import LatentAttention
from tests.helpers.drawn import filled, rand
from tests.mhsa_lib.variants.registry import every, staged

pytestmark = [
    pytest.mark.nohook,
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning"),
]
FUSED = [
    FusedMultiHeadAttention,
    lambda d, n: FusedLatentAttention(LatentAttention(d, n, 4, 2)),
]


class Masked(nn.Module):
    def __init__(self, attention, mask):
        super().__init__()
        self.attention, self.mask = attention, mask

    def forward(self, x):
        return self.attention(x, mask=self.mask)


@every
@pytest.mark.parametrize("mask", [None, masks.causal, masks.sliding_window(2)], ids=str)
@torch.no_grad()
def test_a_program_of_jit_trace_takes_other_sizes(variant, attention, mask):
    program = torch.jit.trace(Masked(attention, mask), (rand(2, 5, 12),), check_trace=False)
    for shape in ((2, 5, 12), (3, 7, 12), (1, 2, 12)):
        x = rand(*shape)
        assert_close(program(x), attention(x, mask=mask), rtol=0, atol=1e-12)


@every
def test_fx_gets_a_repair(variant, attention):
    with pytest.raises(TypeError, match=r"x is a Proxy.*symbolic_trace.*torch\.export\.export"):
        torch.fx.symbolic_trace(attention)


@staged
def test_the_repair_works(variant, attention):
    if "Absorbed" in variant.name:
        pytest.skip("it refuses hooks, and torch.export puts one on all modules")
    x = rand(2, 5, 12)
    program = torch.export.export(attention, (x,)).module()
    assert_close(program(x), attention(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("build", FUSED)
def test_fx_gets_the_same_repair_from_what_takes_a_cache(build):
    with pytest.raises(TypeError, match=r"x is a Proxy.*symbolic_trace.*torch\.export\.export"):
        torch.fx.symbolic_trace(build(12, 3))


@every
def test_a_mask_in_the_place_of_the_context(variant, attention):
    for mask in (torch.ones(5, 5).bool(), masks.causal):
        with pytest.raises(TypeError, match=re.escape("(a mask goes by name: mask=…)")):
            attention(rand(2, 5, 12), mask)


@every
def test_keys_and_values_in_the_places_of_context_and_mask(variant, attention):
    x = rand(2, 5, 12)
    words = re.escape("Keys and values are made from the context, attention(x, context, mask)")
    with pytest.raises(TypeError, match=words):
        attention(x, x, x)


@pytest.mark.parametrize("build", FUSED)
@pytest.mark.parametrize("wrong", [masks.causal, 3, [torch.zeros(2)]], ids=str)
def test_what_is_no_cache(build, wrong):
    x = torch.zeros(2, 5, 12)
    with pytest.raises(TypeError, match=r"cache is a \w+; pass a KVCache by name: cache=…"):
        build(12, 3)(x, x, masks.causal, wrong)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@torch.no_grad()
def test_dynamic_quantisation_reaches_every_map_and_its_error_is_one_of_eight_bits(kind):
    torch.manual_seed(0)
    module, x = filled(kind(12, 3, bias=True), 0.5).eval(), torch.randn(2, 5, 12)
    quantised = torch.ao.quantization.quantize_dynamic(module, {nn.Linear})
    maps = [m for m in module.modules() if type(m) is nn.Linear]
    found = [m for m in quantised.modules() if type(m) is torch.ao.nn.quantized.dynamic.Linear]
    assert len(found) == len(maps)
    for mask in (None, masks.causal, masks.padding([5, 2])):
        error = (quantised(x, mask=mask) - module(x, mask=mask)).abs().max()
        assert 0 < error < 0.05 * module(x).abs().max()
