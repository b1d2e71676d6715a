"""What records the forward pass takes all of it, and its program is the same function."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, export
from torch.testing import assert_close
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from mhsa_lib import FusedMultiHeadAttention, masks, trace
from mhsa_lib.fused import outside_the_graph
from tests.helpers.drawn import mha, rand

pytestmark = pytest.mark.nohook


def compiled(module):
    torch.compiler.reset()
    return torch.compile(module, fullgraph=True, backend="eager")


@pytest.mark.parametrize("mask", [None, masks.causal], ids=str)
@pytest.mark.parametrize("fused", [False, True])
def test_the_whole_pass_is_one_graph(fused, mask):
    attention, x = mha(bias=True), rand(2, 5, 12)
    module = FusedMultiHeadAttention.from_attention(attention) if fused else attention
    assert_close(compiled(module)(x, mask=mask), attention(x, mask=mask))


def test_a_compiled_attention_can_be_trained():
    attention, x = mha(), rand(2, 5, 12)
    compiled(attention)(x, mask=masks.causal).square().sum().backward()
    found = attention.project.W_Q.weight.grad.clone()
    attention.zero_grad()
    attention(x, mask=masks.causal).square().sum().backward()
    assert_close(found, attention.project.W_Q.weight.grad)


def test_the_module_that_was_compiled_can_still_be_traced():
    attention, x = mha(), rand(2, 5, 12)
    expected = compiled(attention)(x)
    with trace(attention) as wires:
        attention(x)
    assert_close(wires["y"], expected)


# --- programs for any length -----------------------------------------------------------------

MASKS = [None, masks.causal, masks.sliding_window(3), masks.causal & masks.padding([2, 1])]
LATER = [pytest.param(mask, marks=pytest.mark.slow) for mask in (MASKS[0], MASKS[2])]
OTHER_LENGTHS = [1, 2, 5, 255, 256, 300]


class Masked(nn.Module):
    def __init__(self, attention, mask):
        super().__init__()
        self.attention, self.mask = attention, mask

    def forward(self, x, context=None):
        return self.attention(x, context, self.mask)


def small(mask=None, **options):
    torch.manual_seed(0)
    return Masked(FusedMultiHeadAttention(12, 6, bias=True, **options), mask)


@pytest.mark.parametrize("grad", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("mask", [MASKS[1], MASKS[3], *LATER], ids=str)
def test_a_compiled_pass_takes_any_length(mask, grad):
    fused = small(mask, n_kv_heads=2)
    torch.compiler.reset()
    program = torch.compile(fused, fullgraph=True, backend="aot_eager", dynamic=True)
    with torch.set_grad_enabled(grad):
        for n in OTHER_LENGTHS:
            x = torch.randn(2, n, 12)
            assert_close(program(x), fused(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("n", "grad"), [(5, True), (300, False)])
@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_an_exported_pass_takes_any_length(mask, n, grad):
    fused = small(mask, n_kv_heads=2)
    with torch.set_grad_enabled(grad):
        given = (torch.randn(2, n, 12),)
        program = export(fused, given, dynamic_shapes=({1: Dim.DYNAMIC},)).module()
        for n_other in OTHER_LENGTHS[1:]:
            x = torch.randn(2, n_other, 12)
            assert_close(program(x), fused(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("n", "m"), [(300, 7), (7, 7)])
@pytest.mark.parametrize("mask", [None, masks.causal], ids=str)
def test_exported_cross_attention_takes_any_two_lengths(mask, n, m):
    fused = small(mask)
    given = torch.randn(2, n, 12), torch.randn(2, m, 12)
    program = export(fused, given, dynamic_shapes=({1: Dim.DYNAMIC}, {1: Dim.DYNAMIC})).module()
    for n, m in ((2, 3), (300, 2), (5, 5)):
        x, context = torch.randn(2, n, 12), torch.randn(2, m, 12)
        assert_close(program(x, context), fused(x, context), atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_cross_attention_of_jit_trace_takes_any_two_lengths():
    fused = small(masks.causal)
    given = torch.randn(2, 7, 12), torch.randn(2, 7, 12)
    program = torch.jit.trace(fused, given, check_trace=False)
    for n, m in ((7, 7), (2, 3), (5, 2)):
        x, context = torch.randn(2, n, 12), torch.randn(2, m, 12)
        assert_close(program(x, context), fused(x, context), atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize(("n", "grad"), [(1, False), (5, True), (300, False)])
@pytest.mark.parametrize("mask", [None, masks.causal, masks.sliding_window(3)], ids=str)
def test_a_pass_of_jit_trace_takes_any_length(mask, n, grad):
    fused = small(mask, n_kv_heads=2)
    with torch.set_grad_enabled(grad):
        program = torch.jit.trace(fused, (torch.randn(2, n, 12),), check_trace=False)
        for n_other in OTHER_LENGTHS:
            x = torch.randn(3, n_other, 12)
            assert_close(program(x), fused(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_fake_tensors_have_the_shapes_and_nothing_is_kept_of_them(dtype):
    fused = small(masks.causal).to(dtype)
    with FakeTensorMode(allow_non_fake_inputs=True):
        for n in OTHER_LENGTHS:
            for grad in (False, True):
                with torch.set_grad_enabled(grad):
                    x = torch.randn(2, n, 12, dtype=dtype)
                    assert fused(x).shape == fused(x, x + 1).shape == x.shape
    x = torch.randn(2, 100, 12).to(dtype)
    assert type(fused(x)) is torch.Tensor


@torch.no_grad()
def test_what_is_compiled_after_packing_uses_the_weights_of_now():
    fused, x = small(), torch.randn(2, 8, 12)
    fused(x)
    program = compiled(fused)
    program(x)
    fused.attention.W_O.weight.mul_(2.0)
    assert_close(program(x), fused(x), atol=1e-5, rtol=1e-5)


# --- no (query × key) tensor in a compiled program -------------------------------------------

LINEAR = [
    masks.sliding_window(16),
    masks.prefix(4),
    masks.padding([3000]),
    masks.causal & masks.key_padding([3000]),
]


def largest_tensor(program, *args, **options):
    """The numbers in the largest tensor that a call makes, compiled parts and others."""
    sizes = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            sizes.extend(
                t.numel() for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)
            )
            return out

    def backend(graph, inputs):
        def run(*values):
            with Watch():
                return graph(*values)

        return run

    torch.compiler.reset()
    with Watch():
        torch.compile(program, backend=backend)(*args, **options)
    return max(sizes)


@pytest.mark.parametrize("mask", LINEAR, ids=str)
@torch.no_grad()
def test_a_compiled_pass_writes_no_query_by_key_tensor(mask):
    n = 4096
    fused, x = FusedMultiHeadAttention(8, 2).eval(), torch.randn(1, n, 8)
    torch.compiler.reset()
    assert_close(torch.compile(fused, backend="eager")(x, mask=mask), fused(x, mask=mask))
    assert largest_tensor(lambda x: fused(x, mask=mask), x) < n * n / 8


@pytest.mark.parametrize("mask", LINEAR, ids=str)
@torch.no_grad()
def test_one_graph_on_request_is_the_same_function(mask):
    fused, x = FusedMultiHeadAttention(8, 2).eval(), torch.randn(1, 300, 8)
    assert_close(compiled(fused)(x, mask=mask), fused(x, mask=mask))


def test_where_torch_tells_nothing_of_the_graph_it_stays_whole(monkeypatch):
    from torch._dynamo import symbolic_convert

    monkeypatch.delattr(symbolic_convert.InstructionTranslatorBase, "current_tx", raising=False)
    monkeypatch.delattr(symbolic_convert.InstructionTranslator, "current_tx", raising=False)
    assert not outside_the_graph.graph_may_break()
