"""One compiled program is given one mask and then another: each call has its own mask."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, masks
from tests.helpers.drawn import filled, rand

pytestmark = [
    pytest.mark.nohook,
    pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning"),
]

MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(2),
    "causal & padding": masks.causal & masks.padding([5, 3]),
    "causal & key padding": masks.causal & masks.key_padding([2, 4]),
}
PAIRS = [(one, "causal") for one in MASKS if one != "causal"]
PAIRS += [(other, one) for one, other in PAIRS]
BACKENDS = [
    "eager",
    pytest.param("aot_eager", marks=pytest.mark.slow),
    pytest.param("inductor", marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True)
def reset():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def attention():
    torch.manual_seed(0)
    return filled(FusedMultiHeadAttention(12, 3).double().eval())


def in_stages(fused, x, mask):
    """The five stages under a boolean tensor, which no rule is recorded for."""
    dense = None if mask is None else mask.dense(x.shape[-2], x.shape[-2])
    return fused.to_attention()(x, mask=dense)


@torch.no_grad()
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_program_takes_one_mask_and_then_another(first, second, backend):
    fused, x = attention(), rand(2, 5, 12)
    program = torch.compile(fused, backend=backend, fullgraph=True)
    for mask in (MASKS[first], MASKS[second], MASKS[first]):
        assert_close(program(x, mask=mask), in_stages(fused, x, mask), rtol=0, atol=1e-10)


class Layers(nn.Module):
    """Attentions on the residual stream, one mask for each."""

    def __init__(self, *names):
        super().__init__()
        self.names, self.layers = names, nn.ModuleList(attention() for _ in names)

    def forward(self, x):
        for name, layer in zip(self.names, self.layers, strict=True):
            x = x + layer(x, mask=MASKS[name])
        return x


@torch.no_grad()
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("names", [("causal", "window"), ("window", "causal")], ids=str)
def test_layers_compiled_one_by_one_alternate_between_masks(names, backend):
    model, x = Layers(*names, *names), rand(2, 5, 12)
    expected = x
    for name, layer in zip(model.names, model.layers, strict=True):
        expected = expected + in_stages(layer, expected, MASKS[name])
    for layer in model.layers:
        layer.compile(backend=backend)
    assert_close(model(x), expected, rtol=0, atol=1e-10)
