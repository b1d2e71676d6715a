"""Watching and changing a pass from outside, without a trace of it left."""

import math
import weakref

import pytest
import torch
from hypothesis import given
from jaxtyping import Float
from torch import Tensor, nn
from torch.testing import assert_close

from mhsa_lib import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    costs,
    edit,
    masks,
    remember,
    shapes,
    trace,
)
from mhsa_lib.stages import Stage
from tests.helpers.drawn import cases, mha, rand

NAMES = [
    "q",
    "k",
    "v",
    "q_heads",
    "k_heads",
    "v_heads",
    "scores",
    "weights",
    "z",
    "concat",
    "y",
]

OneHead = Float[Tensor, "*batch query d_head"]
Gated = Float[Tensor, "*batch query d_gate"]


class Block(nn.Module):
    """A larger model: attention somewhere inside."""

    def __init__(self, *attentions: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(attentions)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


def hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


# --- trace -----------------------------------------------------------------------------------


@given(cases())
def test_tracing_changes_no_bit(case):
    before = case.attention(*case.inputs)
    with trace(case.attention):
        during = case.attention(*case.inputs)
    assert torch.equal(before, during)
    assert torch.equal(case.attention(*case.inputs), before)


def test_tracing_changes_no_bit_in_training_with_dropout():
    attention, x = mha(dropout=0.5).train(), rand(2, 5, 12)
    torch.manual_seed(1)
    before = attention(x, mask=masks.causal)
    torch.manual_seed(1)
    with trace(attention):
        assert torch.equal(attention(x, mask=masks.causal), before)


def test_wires_come_in_the_order_of_computation():
    with trace(mha()) as wires:
        pass
    assert list(wires) == []
    attention = mha()
    with trace(attention) as wires:
        y = attention(rand(2, 5, 12))
    assert list(wires) == NAMES
    assert wires["y"] is y


def test_a_recorded_wire_is_the_tensor_itself():
    attention, x = mha(), rand(2, 5, 12)
    seen = {}
    attention.attend.weights.register_forward_hook(lambda m, args, out: seen.update(w=out))
    with trace(attention) as wires:
        attention(x)
    assert wires["weights"] is seen["w"]
    assert wires.inputs == {"x": x}


def test_gradients_reach_recorded_wires():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as wires:
        y = attention(x)
    for wire in wires.values():
        wire.retain_grad()
    y.square().sum().backward()
    assert all(wire.grad is not None for wire in wires.values())
    dz = wires["z"].grad
    assert_close(wires["weights"].grad, dz @ wires["v_heads"].mT)


def test_a_loss_may_be_made_of_a_wire():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as wires:
        attention(x)
    wires["weights"][0, 0, 0].backward()
    assert attention.project.W_Q.weight.grad.abs().sum() > 0
    assert attention.W_O.weight.grad is None


def test_hooks_are_gone_on_exit():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as wires, edit(attention, "z", torch.zeros_like):
        assert hooks(attention) > 0
        attention(x)
    assert hooks(attention) == 0
    recorded = dict(wires)
    attention(x + 1)
    assert all(wires[name] is recorded[name] for name in recorded)


def test_hooks_are_gone_after_an_exception():
    attention, x = mha(), rand(5, 12)
    with (
        pytest.raises(ZeroDivisionError),
        trace(attention),
        edit(attention, "z", lambda z: 1 // 0),
    ):
        attention(x)
    assert hooks(attention) == 0
    with pytest.raises(TypeError, match="bool"), trace(attention):
        attention(x, mask=torch.ones(5, 5))
    assert hooks(attention) == 0


def test_hooks_of_others_stay():
    attention, seen = mha(), []
    attention.attend.register_forward_hook(lambda *_: seen.append(1))
    with trace(attention), edit(attention, "z", torch.abs):
        attention(rand(5, 12))
    attention(rand(5, 12))
    assert seen == [1, 1]


def test_a_second_pass_replaces_the_first():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
        attention(rand(7, 12), rand(3, 12))
    assert list(wires) == NAMES
    assert wires["weights"].shape == (3, 7, 3)
    assert set(wires.inputs) == {"x", "context"}
    assert wires.flops == sum(costs.flops(7, 12, 3, n_key=3).values())


def test_a_second_pass_that_fails_leaves_nothing_of_the_first():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
        with pytest.raises(TypeError, match="bool"):
            attention(x, mask=torch.ones(5, 5))
    assert list(wires) == list(wires.steps) == NAMES[:7]


def test_work_outside_the_attention_is_not_counted():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as wires:
        x @ x.mT
        attention(x)
        x @ x.mT
    assert wires.flops == sum(costs.flops(5, 12, 3, batch=2).values())


@given(cases())
def test_one_set_of_sizes_explains_every_wire(case):
    with trace(case.attention) as wires:
        case.attention(*case.inputs)
    a, sizes = case.attention, wires.sizes
    expected = {
        "query": case.n_query,
        "key": case.n_key,
        "head": a.n_heads,
        "kv_head": a.n_heads,
        "d_model": a.d_model,
        "d_head": a.d_head,
        "d_heads": a.n_heads * a.d_head,
        "d_kv_heads": a.n_heads * a.d_head,
    }
    if case.batch:
        expected["batch"] = case.batch if len(case.batch) > 1 else case.batch[0]
    assert sizes == expected
    for name, step in wires.steps.items():
        batch = case.batch if case.batch else ()
        named = [size for axis, size in step.axes.items() if axis != "batch"]
        assert wires[name].shape == (*batch, *named)
        assert all(sizes[axis] == size for axis, size in step.axes.items())


@given(cases())
def test_bytes_and_flops_are_those_of_the_formulas(case):
    with trace(case.attention) as wires:
        case.attention(*case.inputs)
    sizes = case.sizes | {
        "n_query": case.n_query,
        "n_key": case.n_key,
        "batch": math.prod(case.batch),
    }
    flops = costs.flops(**sizes, d_context=case.attention.d_context)
    new = costs.bytes_of(**sizes, itemsize=8)
    for name, step in wires.steps.items():
        assert step.flops == flops.get(name, 0), name
        assert step.bytes == wires[name].numel() * 8
        if step.result == "copy":
            assert step.bytes == new[name], name
    assert wires.flops == sum(flops.values())


def test_splitting_is_a_view_and_concat_a_copy():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    views = [name for name, step in wires.steps.items() if step.result == "view"]
    assert views == ["q_heads", "k_heads", "v_heads"]
    assert {step.result for step in wires.steps.values()} == {"view", "copy"}
    shared = wires["q"].untyped_storage().data_ptr()
    assert wires["q_heads"].untyped_storage().data_ptr() == shared
    assert (
        wires["concat"].untyped_storage().data_ptr() != wires["z"].untyped_storage().data_ptr()
    )


def test_concat_of_one_head_needs_no_copy():
    attention = mha(4, 1)
    with trace(attention) as wires:
        attention(rand(5, 4))
    assert wires.steps["concat"].result == "view"


def test_strides_are_those_of_the_tensors():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 6, 12))
    assert wires.steps["q"].stride == (72, 12, 1)
    assert wires.steps["q_heads"].stride == (72, 4, 12, 1)
    assert all(wires[name].stride() == step.stride for name, step in wires.steps.items())


def test_shapes_of_a_huge_model_cost_nothing_on_meta():
    with torch.device("meta"):
        attention, x = MultiHeadAttention(16384, 128), torch.empty(4, 131_072, 16384)
    with trace(attention) as wires:
        attention(x, mask=masks.causal)
    assert wires["weights"].shape == (4, 128, 131_072, 131_072)
    assert wires.steps["weights"].bytes == 4 * 128 * 131_072**2 * 4
    assert wires.flops == sum(costs.flops(131_072, 16384, 128, batch=4).values())
    assert [s.result for s in wires.steps.values()].count("view") == 3


def test_the_ledger_on_meta_is_that_of_the_real_tensors():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as real:
        attention(x)
    attention.to("meta")
    with trace(attention) as meta:
        attention(x.to("meta"))
    assert real.steps == meta.steps


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


MODELS = {
    "a list": (Block(mha(), mha()), "model.layers[0]"),
    "a list in a list": (
        nn.Sequential(Block(mha(), mha()), nn.Identity()),
        "model[0].layers[0]",
    ),
    "a dict": (nn.ModuleDict({"to left": mha(), "values left": mha()}), "model['to left']"),
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
    words = r"FusedMultiHeadAttention holds no stages of mhsa_lib; model.to_attention\(\) gives"
    with pytest.raises(ValueError, match=words), trace(FusedMultiHeadAttention(12, 3)):
        pass
    words = r"Linear holds no stages of mhsa_lib; trace_ops\(model, x\) shows"
    with pytest.raises(ValueError, match=words), trace(nn.Linear(2, 2)):
        pass


def test_an_unknown_wire_is_told_from_those_there_are():
    attention = mha()
    with trace(attention) as wires:
        with pytest.raises(KeyError, match="it has none yet: run a forward pass"):
            wires["weights"]
        attention(rand(5, 12))
    with pytest.raises(
        KeyError, match="no wire 'wieghts' in MultiHeadAttention; it has q, k, v"
    ):
        wires["wieghts"]


def test_the_table_has_a_line_per_wire():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    lines = wires.table().splitlines()
    assert repr(wires) == wires.table()
    assert lines[0].split() == ["wire", "axes", "stride", "result", "bytes", "FLOPs"]
    assert [line.split()[0] for line in lines[1:]] == NAMES
    assert "batch 2, head 3, query 5, key 5" in lines[7]
    assert lines[7].split()[-3:] == ["copy", "1,200", "1,200"]


def test_axes_that_disagree_raise():
    class Wrong(Stage):
        wires = ("concat",)

        def forward(self, z: Tensor) -> OneHead:
            return z.transpose(-2, -3).flatten(-2)

    attention = mha(concat=Wrong())
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    with pytest.raises(
        ValueError, match="axis 'd_head' is 12 in wire 'concat' but 4 before it"
    ):
        _ = wires.sizes


def test_a_stage_of_your_own_appears_with_its_wires_and_axes():
    class Gate(nn.Linear, Stage):
        wires = ("gated",)

        def forward(self, rows: Tensor) -> Gated:
            return super().forward(rows)

    attention = mha(W_O=Gate(12, 5).double())
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    assert list(wires)[-2:] == ["gated", "y"]
    assert wires.steps["gated"].axes == {"batch": 2, "query": 5, "d_gate": 5}
    assert wires.steps["y"].result == "view"
    assert shapes.axes(attention.W_O.shapes()["gated"])[-1] == "d_gate"


class Plain(MultiHeadAttention):
    """Overrides the pass and says nothing of its shape."""

    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask)


class Unsaid(Stage):
    wires = ("concat",)

    def forward(self, z):
        return z.transpose(-2, -3).flatten(-2)


class Said(Unsaid):
    def forward(self, z) -> Tensor:
        return super().forward(z)


class Elsewhere(Unsaid):
    def forward(self, z) -> "Nowhere":  # noqa: F821
        return super().forward(z)


class Fewer(Stage):
    wires = ("concat", "more")

    def forward(self, z) -> OneHead:
        return z


def test_a_subclass_that_says_no_shape_has_that_of_its_base():
    attention, x = Plain(12, 3).double(), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
    assert wires.steps["y"].axes == {"batch": 2, "query": 5, "d_model": 12}


@pytest.mark.bothways
@pytest.mark.parametrize("stage", [Unsaid, Said, Elsewhere, Fewer])
def test_a_stage_that_says_no_shape_is_refused_at_once(stage):
    words = (
        f"{stage.__name__}.forward does not say the shapes of its wires concat.*; annotate "
        f"what it returns, one alias of mhsa_lib.shapes for each wire"
    )
    with pytest.raises(TypeError, match=words), trace(mha(concat=stage())):
        pass


def test_a_stage_without_wires_needs_no_shape():
    class Quiet(Stage):
        def forward(self, z):
            return z.transpose(-2, -3).flatten(-2)

    with trace(attention := mha(concat=Quiet())) as wires:
        attention(rand(2, 5, 12))
    assert list(wires) == [name for name in NAMES if name != "concat"]


def test_a_long_block_keeps_no_tensor_that_is_no_wire():
    attention, kept = mha(), []
    with trace(attention) as wires:
        for _ in range(3):
            x = attention(rand(2, 5, 12)) * 2
            kept.append(weakref.ref(x))
            del x
        assert [ref() for ref in kept] == [None] * 3
        with pytest.raises(TypeError, match="bool"):
            attention(rand(2, 5, 12), mask=torch.ones(5, 5))
        doubled = rand(2, 5, 12) * 2
        later = weakref.ref(doubled)
        del doubled
        assert later() is None
    assert list(wires) == NAMES[:7]


@pytest.mark.bothways
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("tool", [trace, remember, lambda attention: edit(attention, "z", abs)])
def test_nested_and_sparse_tensors_are_refused(tool):
    attention, parts = mha(), [rand(3, 12), rand(2, 12)]
    for layout in (torch.strided, torch.jagged):
        words = r"x is a nested tensor; pass a dense one, x\.to_padded_tensor\(0\.0\), and the"
        nested = torch.nested.nested_tensor(parts, layout=layout)
        with pytest.raises(TypeError, match=words), tool(attention):
            attention(nested)
        with pytest.raises(TypeError, match="context is a nested"), trace(attention):
            attention(rand(2, 3, 12), nested)
    for x, layout in (
        (rand(2, 3, 12).to_sparse(), "coo"),
        (rand(3, 12).to_sparse_csr(), "csr"),
    ):
        words = rf"x has the layout torch.sparse_{layout}; pass a dense tensor: x\.to_dense\(\)"
        with pytest.raises(TypeError, match=words), tool(attention):
            attention(x)
    with pytest.raises(TypeError, match=r"mask has the layout torch\.sparse_coo"):
        attention(rand(3, 12), mask=torch.ones(3, 3, dtype=torch.bool).to_sparse())


# --- edit ------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", NAMES)
def test_every_wire_can_be_cut_and_heals_on_exit(wire):
    attention, x = mha(bias=True), rand(2, 5, 12)
    before = attention(x)
    with edit(attention, wire, torch.zeros_like):
        assert not torch.allclose(attention(x), before)
    assert torch.equal(attention(x), before)


@pytest.mark.parametrize("wire", NAMES)
def test_an_edit_that_changes_nothing_changes_nothing(wire):
    attention, x = mha(), rand(2, 5, 12)
    before = attention(x)
    with edit(attention, wire, lambda value: value.clone()):
        assert torch.equal(attention(x), before)


def test_an_edit_touches_its_own_wire_only():
    attention, x = mha(), rand(5, 12)
    with edit(attention, "k", torch.zeros_like), trace(attention) as wires:
        attention(x)
    assert_close(wires["q"], attention.project.W_Q(x))
    assert (wires["k"] == 0).all()
    assert_close(wires["v"], attention.project.W_V(x))


def test_a_trace_inside_or_around_an_edit_sees_the_edited_value():
    attention, x = mha(), rand(2, 5, 12)
    with edit(attention, "weights", torch.zeros_like), trace(attention) as inside:
        attention(x)
    with trace(attention) as around, edit(attention, "weights", torch.zeros_like):
        attention(x)
    assert (inside["weights"] == 0).all()
    assert (around["weights"] == 0).all()
    assert list(inside) == list(around) == NAMES


def test_of_two_edits_of_one_wire_the_inner_acts_first():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as plain:
        attention(x)
    with (
        trace(attention) as wires,
        edit(attention, "y", lambda y: 2 * y),
        edit(attention, "y", lambda y: y + 1),
    ):
        attention(x)
    assert_close(wires["y"], 2 * (plain["y"] + 1))


def test_patching_a_wire_of_one_run_into_another_gives_the_other_output():
    attention, x, other = mha(), rand(5, 12), rand(5, 12)
    with trace(attention) as wires:
        expected = attention(other)
    with edit(attention, "z", lambda z: wires["z"]):
        assert torch.equal(attention(x), expected)


def test_gradients_flow_through_an_edit():
    attention, x = mha(), rand(5, 12).requires_grad_()
    (plain,) = torch.autograd.grad(attention(x).sum(), x)
    with edit(attention, "y", lambda y: 3 * y):
        (edited,) = torch.autograd.grad(attention(x).sum(), x)
    assert_close(edited, 3 * plain)


def test_an_unknown_wire_cannot_be_edited():
    attention = mha()
    words = r"no single wire 'wieghts' in MultiHeadAttention; it has \['concat', 'k', .*'z'\]"
    with pytest.raises(KeyError, match=words), edit(attention, "wieghts", torch.zeros_like):
        pass


def test_an_edit_keeps_shape_and_dtype():
    attention, x = mha(), rand(5, 12)
    for change, error, words in (
        (lambda z: z[..., :1], ValueError, r"returned \(3, 5, 1\) .*must keep \(3, 5, 4\)"),
        (lambda z: z.float(), ValueError, r"torch\.float32; it must keep .* torch\.float64"),
        (lambda z: None, TypeError, "the change of wire 'z' returned NoneType, not a tensor"),
    ):
        with pytest.raises(error, match=words), edit(attention, "z", change):
            attention(x)
    assert hooks(attention) == 0


def test_a_single_stage_knows_all_that_came_in():
    mha, x = MultiHeadAttention(12, 3), torch.randn(6, 12)
    rows = mha.project(x, x)
    with trace(mha.split) as wires:
        mha.split(*rows)
    assert list(wires.inputs) == ["q", "k", "v"]
    assert {step.result for step in wires.steps.values()} == {"view"}
