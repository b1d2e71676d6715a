"""The one attention in a larger model is found, and several are refused by their paths."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, edit, trace
from mhsa_lib.tracing.find import find_attentions, the_attention
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.names import NAMES


class Block(nn.Module):
    """A larger model: attention somewhere inside."""

    def __init__(self, *attentions: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(attentions)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


def test_the_attention_inside_a_larger_model_is_found():
    attention, x = mha(), rand(2, 5, 12)
    model = Block(nn.Linear(12, 12).double(), attention)
    with trace(model) as wires:
        model(x)
    assert list(wires) == NAMES
    assert wires.name == "MultiHeadAttention"
    with edit(model, "z", torch.zeros_like):
        cut = model(x)
    assert_close(cut, x + model.layers[0](x))


def test_several_attentions_are_refused_with_the_paths_to_choose_from():
    model = Block(mha(), mha())
    words = r"Block holds 2 attentions; choose one of layers\.0, layers\.1, for example trace\("
    with pytest.raises(ValueError, match=words), trace(model):
        pass
    with trace(model.layers[1]) as wires:
        model(rand(5, 12))
    assert list(wires) == NAMES


def test_of_many_attentions_three_are_named_and_the_others_counted():
    words = r"30 attentions; choose one of layers\.0, layers\.1, layers\.2 and 27 more, for ex"
    with pytest.raises(ValueError, match=words):
        the_attention(Block(*(mha() for _ in range(30))))
    with pytest.raises(ValueError, match=r"of layers\.0, layers\.1, layers\.2, for ex"):
        the_attention(Block(mha(), mha(), mha()))


def test_attentions_are_found_by_their_paths_and_their_stages_are_none():
    attention = mha()
    assert find_attentions(attention) == {"": attention}
    first, last, shared = mha(), mha(), mha()
    model = nn.Sequential(Block(first, nn.Linear(12, 12), shared), shared, last)
    expected = {"0.layers.0": first, "0.layers.2": shared, "2": last}
    assert find_attentions(model) == expected
    # A path that begins with the same letters is no path inside.
    model = nn.ModuleDict({"self": first, "self_2": last})
    assert find_attentions(model) == {"self": first, "self_2": last}


MODELS = {
    "a list": (Block(mha(), mha()), "model.get_submodule('layers.0')"),
    "a list in a list": (
        nn.Sequential(Block(mha(), mha()), nn.Identity()),
        "model.get_submodule('0.layers.0')",
    ),
    "a dict": (
        nn.ModuleDict({"to left": mha(), "values left": mha()}),
        "model.get_submodule('to left')",
    ),
    "an own name": (nn.Module(), "model.get_submodule('0')"),
}
MODELS["an own name"][0].add_module("0", mha())
MODELS["an own name"][0].add_module("1", mha())


@pytest.mark.bothways
@pytest.mark.parametrize("name", MODELS)
def test_the_example_in_the_message_is_python(name):
    model, spelled = MODELS[name]
    with pytest.raises(ValueError, match="holds 2 attentions") as raised, trace(model):
        pass
    example = str(raised.value).partition("for example trace(")[2].removesuffix(").")
    assert example == spelled
    with trace(eval(example, {"model": model})):
        pass


def test_a_model_without_our_attention_is_refused():
    words = r"FusedMultiHeadAttention holds no stages of mhsa_lib; to_attention\(\) of a fused"
    with pytest.raises(ValueError, match=words), trace(FusedMultiHeadAttention(12, 3)):
        pass
    words = r"Linear holds no stages of mhsa_lib; .* trace_ops\(model, x\) shows"
    with pytest.raises(ValueError, match=words), trace(nn.Linear(2, 2)):
        pass
