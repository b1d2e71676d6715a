"""A trace and an edit of a model with several attentions are those of each of them."""

import gc
import weakref

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import GroupedQueryAttention, edit, masks, trace
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.tracing.names import NAMES

PATHS = ["layers.0.attention", "layers.1.attention", "layers.2.attention"]


class Layer(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def forward(self, x):
        return x + self.attention(x, mask=masks.causal)


class Model(nn.Module):
    """Layers with a residual stream; ``used`` of them run."""

    def __init__(self, n_layers=3, used=None):
        super().__init__()
        self.layers = nn.ModuleList(Layer(mha()) for _ in range(n_layers))
        self.used = n_layers if used is None else used

    def forward(self, x):
        for layer in self.layers[: self.used]:
            x = layer(x)
        return x


def test_there_are_wires_of_every_attention_by_its_path():
    model, x = Model(), rand(2, 5, 12)
    with trace(model) as wires:
        y = model(x)
    assert list(wires) == PATHS
    assert torch.equal(y, model(x))
    for layer, path in zip(model.layers, PATHS, strict=True):
        with trace(layer) as alone:
            after = layer(x)
        assert list(wires[path]) == NAMES
        for name in NAMES:
            assert torch.equal(wires[path][name], alone[name]), (path, name)
        assert repr(wires[path]) == repr(alone)  # sizes, strides, bytes and FLOPs
        assert torch.equal(wires[path].inputs["x"], x)
        x = after


def test_what_a_later_pass_leaves_out_is_not_that_of_an_earlier_one():
    model = Model()
    with trace(model) as wires:
        model(rand(2, 5, 12))
        model.used = 1
        model(rand(7, 12))
    assert wires[PATHS[0]]["weights"].shape == (3, 7, 7)
    assert [len(wires[path]) for path in PATHS] == [len(NAMES), 0, 0]
    assert wires[PATHS[1]].inputs == {}


def test_a_pass_that_fails_ends_the_recording_of_all():
    model, kept = Model(), []
    model.layers[2].attention.W_O = nn.Linear(13, 12).double()
    with trace(model) as wires:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            model(rand(2, 5, 12))
        made = rand(2, 5, 12) * 2
        kept.append(weakref.ref(made))
        del made
        gc.collect()
        assert kept[0]() is None
    assert [len(each) for each in wires.values()] == [11, 11, 10]


def test_a_trace_of_many_is_printed_in_a_line_for_each():
    model = Model()
    with trace(model) as wires:
        model(rand(5, 12))
    assert repr(wires).splitlines()[1] == "layers.1.attention: MultiHeadAttention, 11 wires"


@pytest.mark.bothways
def test_an_unknown_path_is_told_from_three_that_there_are():
    model = Model(30)
    words = r"layers\.0\.attention, layers\.1\.attention, layers\.2\.attention and 27 more\."
    with trace(model) as wires, pytest.raises(KeyError, match=f"'layers.3'; .* {words}"):
        wires["layers.3"]
    changes = dict.fromkeys(["layers.3", 2, PATHS[0]], torch.zeros_like)
    words = r"Model has no attention at 'layers\.3', 2; find_attentions\(model\) has 'layers\.0"
    with pytest.raises(KeyError, match=words), edit(model, "z", changes):
        pass
    assert not any(module._forward_hooks for module in model.modules())


def test_an_edit_is_of_every_attention():
    model, x = Model(), rand(2, 5, 12)
    with edit(model, "z", torch.zeros_like), trace(model) as wires:
        y = model(x)
    assert torch.equal(y, x)
    assert all((each["z"] == 0).all() for each in wires.values())
    assert not torch.equal(model(x), x)


def test_an_edit_of_some_is_told_by_their_paths():
    model, x = Model(), rand(2, 5, 12)
    changes = {PATHS[0]: torch.zeros_like, PATHS[2]: lambda z: 2.0 * z}
    with edit(model, "z", changes):
        found = model(x)
    middle = model.layers[1](x)
    last = model.layers[2].attention(middle, mask=masks.causal)
    assert_close(found, middle + 2.0 * last)
    alone = model.layers[0].attention
    with edit(alone, "z", {"": torch.zeros_like}):
        assert (alone(x) == 0).all()


@pytest.mark.bothways
def test_a_wire_that_one_of_them_lacks_cannot_be_edited_in_all():
    model = Model(2)
    model.layers[1].attention.split.wires = {"a": 1, "b": 2, "c": 3}
    words = r"no single wire 'q_heads' in MultiHeadAttention at layers\.1\.attention; .* a dict"
    with pytest.raises(KeyError, match=words), edit(model, "q_heads", torch.zeros_like):
        pass
    assert not any(module._forward_hooks for module in model.modules())
    with edit(model, "q_heads", {PATHS[0]: torch.zeros_like}):
        pass


def test_variants_in_one_model_have_wires_of_their_own():
    grouped = GroupedQueryAttention(12, 6, 2).double()
    model = nn.Sequential(mha(), grouped)
    with trace(model) as wires:
        model(rand(2, 5, 12))
    assert {path: each.name for path, each in wires.items()} == {
        "0": "MultiHeadAttention",
        "1": "GroupedQueryAttention",
    }
    assert wires["1"].sizes["kv_head"] == 2
