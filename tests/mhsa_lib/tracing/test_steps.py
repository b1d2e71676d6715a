"""The steps of a trace: sizes, strides, bytes and FLOPs of each wire, views and copies."""

import math

import torch
from hypothesis import given

from mhsa_book import costs
from mhsa_lib import MultiHeadAttention, masks, trace
from tests.helpers.drawn import cases, mha, rand


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
        if step.result == "new memory":
            assert step.bytes == new[name], name
    assert wires.flops == sum(flops.values())


def test_work_outside_the_attention_is_not_counted():
    attention, x = mha(), rand(2, 5, 12)
    with trace(attention) as wires:
        x @ x.mT
        attention(x)
        x @ x.mT
    assert wires.flops == sum(costs.flops(5, 12, 3, batch=2).values())


def test_splitting_is_a_view_and_concat_a_copy():
    attention = mha()
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    views = [name for name, step in wires.steps.items() if step.result == "view"]
    assert views == ["q_heads", "k_heads", "v_heads"]
    assert {step.result for step in wires.steps.values()} == {"view", "new memory"}
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
