"""What torch really runs: ours, nn.MultiheadAttention, a BERT layer, the fused module."""

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from mhsa_book import costs
from mhsa_lib import FusedMultiHeadAttention, masks, trace, trace_ops
from tests.helpers.drawn import mha, rand

N = 11  # not the size of any other axis below


def pairs(ops) -> list[str]:
    """Operations with a result that has a (query, key) pair of axes."""
    return [op.name for op in ops if op.shape.count(N) >= 2]


def test_an_op_has_shape_strides_bytes_and_flops():
    (transposed, product) = trace_ops(lambda x: x.mT @ x, torch.zeros(2, 3))
    assert (transposed.name, transposed.shape, transposed.stride) == (
        "transpose",
        (3, 2),
        (1, 3),
    )
    assert (transposed.result, transposed.bytes, transposed.flops) == ("view", 24, 0)
    assert (product.name, product.shape, product.stride) == ("mm", (3, 3), (3, 1))
    assert (product.result, product.bytes, product.flops) == ("new memory", 36, 2 * 3 * 2 * 3)


def test_view_copy_and_in_place_are_told_apart():
    def steps(x):
        y = x.view(6)
        y.add_(1)
        return y + 1

    assert [op.result for op in trace_ops(steps, torch.zeros(2, 3))] == [
        "view",
        "in place",
        "new memory",
    ]


def test_contiguous_copies_only_when_it_has_to():
    assert trace_ops(torch.Tensor.contiguous, torch.zeros(2, 3)) == []
    ops = trace_ops(torch.Tensor.contiguous, torch.zeros(2, 3).T)
    assert [op.result for op in ops] == ["new memory"]


def test_the_total_adds_up_flops():
    ops = trace_ops(lambda x: (x @ x.mT) + 1, torch.zeros(2, 3))
    assert ops.flops == 2 * 2 * 3 * 2
    assert [op.bytes for op in ops if op.result == "new memory"] == [16, 16]


def test_keyword_arguments_arrive():
    ops = trace_ops(lambda x, *, times: x * times, torch.ones(3), times=2)
    assert [op.name for op in ops] == ["mul"]


def test_listening_changes_no_result():
    attention, x = mha(), rand(2, 5, 12)
    kept = []
    trace_ops(lambda: kept.append(attention(x)))
    assert torch.equal(kept[0], attention(x))


def test_an_exception_passes_through_and_listening_ends():
    listened = []
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        trace_ops(lambda x: listened.append(x) or x @ x, torch.zeros(2, 3))
    assert len(listened) == 1
    assert trace_ops(lambda: None) == []


def test_the_table_has_a_line_per_operation():
    ops = trace_ops(lambda x: x.mT @ x, torch.zeros(2, 3))
    lines = repr(ops).splitlines()
    assert lines[0].split() == ["op", "shape", "stride", "result", "bytes", "FLOPs"]
    assert lines[2].split() == ["mm", "(3,", "3)", "(3,", "1)", "new", "memory", "36", "36"]


def test_it_works_on_meta():
    attention = mha().to("meta")
    ops = trace_ops(attention, torch.empty(2, 5, 12, device="meta", dtype=torch.float64))
    assert ops.flops == sum(costs.flops(5, 12, 3, batch=2).values())
    assert "view" in {op.result for op in ops}


def test_the_five_stages_write_the_pair_of_axes_and_cost_what_the_formula_says():
    ops = trace_ops(mha(), rand(2, N, 12))
    assert "_softmax" in pairs(ops)
    assert ops.flops == sum(costs.flops(N, 12, 3, batch=2).values())


def test_in_inference_mode_the_same_work_is_counted():
    attention, x = mha(), rand(2, N, 12)
    with torch.inference_mode():
        ops = trace_ops(attention, x)
        with trace(attention) as wires:
            attention(x)
    flops = costs.flops(N, 12, 3, batch=2)
    assert ops.flops == sum(flops.values())
    assert {wire: step.flops for wire, step in wires.steps.items() if step.flops} == flops


@pytest.mark.parametrize("mask", [None, masks.causal])
def test_fused_never_has_a_query_by_key_tensor(mask):
    fused = FusedMultiHeadAttention.from_attention(mha())
    ops = trace_ops(fused, rand(2, N, 12), mask=mask)
    assert pairs(ops) == []
    assert ops.flops == sum(costs.flops(N, 12, 3, batch=2).values())


def test_a_dense_mask_brings_the_pair_of_axes_back():
    fused = FusedMultiHeadAttention.from_attention(mha())
    assert pairs(trace_ops(fused, rand(2, N, 12), mask=masks.sliding_window(2)))


def test_decoding_one_token_needs_no_mask_tensor():
    fused = FusedMultiHeadAttention.from_attention(mha())
    ops = trace_ops(fused, rand(2, 1, 12), rand(2, N, 12), mask=masks.causal)
    assert all(op.name != "arange" for op in ops)
    assert ops.flops == sum(costs.flops(1, 12, 3, n_key=N, batch=2).values())


def _torchs():
    return nn.MultiheadAttention(12, 2, batch_first=True).double().eval()


def test_nn_multiheadattention_in_eval_is_one_operation():
    module, x = _torchs(), rand(2, N, 12)
    with torch.no_grad():
        ops = trace_ops(module, x, x, x, need_weights=False)
    assert [op.name for op in ops] == ["_native_multi_head_attention"]
    assert ops.flops == sum(costs.flops(N, 12, 2, batch=2).values())


def test_asking_for_weights_makes_the_pair_of_axes_exist():
    module, x = _torchs(), rand(2, N, 12)
    with torch.no_grad():
        assert pairs(trace_ops(module, x, x, x, need_weights=False)) == []
        assert pairs(trace_ops(module, x, x, x, need_weights=True))


def test_with_gradients_nn_multiheadattention_runs_its_parts():
    module, x = _torchs(), rand(2, N, 12)
    ops = trace_ops(module, x, x, x, need_weights=False)
    assert "_native_multi_head_attention" not in {op.name for op in ops}
    assert ops.flops == sum(costs.flops(N, 12, 2, batch=2).values())


KERNELS = {
    "_native_multi_head_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "bmm",
}


@pytest.mark.filterwarnings("default")  # the profiler has some of its own
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("kind", ["torch", "fused", "five stages"])
def test_listening_does_not_change_the_path_that_torch_takes(kind, grad):
    ours, x, module = mha(), rand(2, N, 12), _torchs()
    fused = FusedMultiHeadAttention.from_attention(ours)
    fn = {
        "torch": lambda: module(x, x, x, need_weights=False),
        "fused": lambda: fused(x, mask=masks.causal),
        "five stages": lambda: ours(x, mask=masks.causal),
    }[kind]
    with torch.set_grad_enabled(grad):
        listened = {op.name for op in trace_ops(fn)}
        with profile(activities=[ProfilerActivity.CPU]) as seen:
            fn()
    profiled = {event.name.removeprefix("aten::") for event in seen.events()}
    one_call = "_native_multi_head_attention"  # the profiler also looks inside it
    inside = {"bmm"} if one_call in profiled else set()
    assert listened & KERNELS == profiled & KERNELS - inside
    assert listened & KERNELS


# --- tensors without strides -----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_a_sparse_tensor_has_no_strides_and_counts_as_if_it_were_dense(layout):
    dense = torch.eye(4)
    made = trace_ops(dense.to_sparse, layout=getattr(torch, layout))[-1]
    assert (made.shape, made.stride, made.bytes, made.result) == ((4, 4), (), 64, "new memory")
    product = trace_ops(torch.mm, dense.to_sparse(layout=getattr(torch, layout)), dense)[-1]
    assert (product.stride, product.flops) == ((4, 1), 2 * 4**3)
