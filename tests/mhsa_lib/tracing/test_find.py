"""The attentions in a larger model are found, by their paths."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, edit, trace
from mhsa_lib.tracing.find import find_attentions
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


def test_a_model_without_our_attention_is_refused():
    words = r"FusedMultiHeadAttention holds no stages of mhsa_lib; to_attention\(\) of a fused"
    with pytest.raises(ValueError, match=words), trace(FusedMultiHeadAttention(12, 3)):
        pass
    words = r"Linear holds no stages of mhsa_lib; .* trace_ops\(model, x\) shows"
    with pytest.raises(ValueError, match=words), trace(nn.Linear(2, 2)):
        pass
