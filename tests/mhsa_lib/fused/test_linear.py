"""Two libraries, one product: what is chosen never changes what comes out."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import parametrize
from torch.testing import assert_close

from mhsa_lib.fused import linear
from tests.helpers.fused_paths import machine


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 4), max_size=2),
    st.integers(1, 70),
    st.integers(1, 9),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
)
def test_it_is_f_linear_and_so_are_its_gradients(batch, rows, width, out, bias, faster):
    torch.manual_seed(rows)
    x = torch.randn(*batch, rows, width, requires_grad=True)
    W = torch.randn(out, width, requires_grad=True)
    b = torch.randn(out, requires_grad=True) if bias else None
    inputs = [t for t in (x, W, b) if t is not None]
    with machine(onednn_is_faster=faster):
        y = linear.linear(x, W, b)
        found = torch.autograd.grad(y.square().sum(), inputs)
        with torch.no_grad():
            assert_close(linear.linear(x, W, b), y)
    expected = F.linear(x, W, b)
    assert_close(y, expected, atol=1e-5, rtol=1e-5)
    wanted = torch.autograd.grad(expected.square().sum(), inputs)
    assert_close(found, wanted, atol=1e-3, rtol=1e-4)


def test_inputs_that_are_not_contiguous_are_fine():
    with machine(onednn_is_faster=True):
        x = torch.randn(16, 20).T
        W = torch.randn(16, 7).T
        assert_close(linear.linear(x, W), F.linear(x, W), atol=1e-5, rtol=1e-5)
        row = torch.randn(1, 16).expand(30, 16)
        assert_close(linear.linear(row, W), F.linear(row, W), atol=1e-5, rtol=1e-5)


def test_only_the_gradients_that_are_asked_for_are_computed():
    with machine(onednn_is_faster=True):
        W = torch.randn(3, 4, requires_grad=True)
        y = linear.linear(torch.randn(16, 4), W)
        y.sum().backward()
    assert W.grad is not None
    assert y.grad_fn is not None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_types_go_to_f_linear(dtype):
    x, W = torch.randn(16, 4, dtype=dtype), torch.randn(3, 4, dtype=dtype)
    with machine(onednn_is_faster=True):
        assert torch.equal(linear.linear(x, W), F.linear(x, W))


def test_autocast_decides_the_type():
    x, W = torch.randn(16, 4), torch.randn(3, 4)
    with machine(onednn_is_faster=True), torch.autocast("cpu", torch.bfloat16):
        assert linear.linear(x, W).dtype is torch.bfloat16


@pytest.mark.parametrize("grad", [False, True])
def test_autocast_leaves_float64_alone(grad):
    x, W = torch.randn(200, 4).double(), torch.randn(3, 4).double()
    with torch.autocast("cpu", torch.bfloat16), torch.set_grad_enabled(grad):
        assert torch.equal(linear.linear(x, W), F.linear(x, W))


def test_what_f_linear_refuses_is_refused():
    x, W, b = torch.randn(16, 4), torch.randn(3, 4), torch.randn(3)
    W_packed = packed(4, 3).bfloat16()
    with machine(onednn_is_faster=True), torch.no_grad():
        for weight, bias in ((W.double(), None), (W, b.double()), (W.bfloat16(), None)):
            with pytest.raises(RuntimeError, match="dtype"):
                linear.linear(x, weight, bias)
        with pytest.raises(RuntimeError, match="dtype"):
            W_packed(x)
        with torch.autocast("cpu", torch.bfloat16), pytest.raises(RuntimeError, match="dtype"):
            W_packed.double()(x)


@pytest.mark.parametrize("rows", [16, 200])
def test_its_gradients_have_derivatives(rows):
    x, W, b = (torch.randn(*s, requires_grad=True) for s in ((rows, 4), (3, 4), (3,)))
    found = []
    for multiply in (linear.linear, F.linear):
        with machine(onednn_is_faster=True):
            y = multiply(x, W, b).sin().sum()
            first = torch.autograd.grad(y, (x, W, b), create_graph=True)
            second = sum(g.square().sum() for g in first)
            found.append(torch.autograd.grad(second, (x, W, b)))
    assert_close(*found, atol=1e-4, rtol=1e-4)


# --- packed ----------------------------------------------------------------------------------


def packed(width=8, out=6):
    W = linear.Linear(width, out)
    W.pack()
    return W


@torch.no_grad()
@pytest.mark.parametrize("rows", [1, 3, 4, 16, 64, 65])
@pytest.mark.parametrize("autocast", [False, True])
def test_a_packed_weight_is_the_same_weight(rows, autocast):
    W, x = packed(), torch.randn(rows, 8)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        y, expected = W(x), F.linear(x, W.weight, W.bias)
    assert y.dtype is expected.dtype
    tolerance = 2e-2 if autocast else 1e-5
    assert_close(y, expected, atol=tolerance, rtol=tolerance)


def test_a_step_of_the_optimizer_is_noticed():
    W, x = packed(), torch.randn(16, 8)
    with torch.no_grad():
        W(x)
    W(x).sum().backward()
    torch.optim.SGD(W.parameters(), lr=1.0).step()
    with torch.no_grad():
        assert_close(W(x), F.linear(x, W.weight, W.bias), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_other_weights_are_noticed():
    W, other, x = packed(), linear.Linear(8, 6), torch.randn(16, 8)
    W(x)
    W.load_state_dict(other.state_dict())
    assert_close(W(x), other(x), atol=1e-5, rtol=1e-5)
    W.weight = other.weight
    other.weight.mul_(2.0)
    assert_close(W(x), other(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "how", [{"fused": True}, {"foreach": True}, {"foreach": False}], ids=str
)
def test_a_step_is_noticed_that_is_not_counted_in_the_weight(how):
    W, x = packed(), torch.randn(16, 8)
    optimizer = torch.optim.AdamW(W.parameters(), lr=0.5, **how)
    W(x).sum().backward()
    with torch.no_grad():
        before = W(x)
        optimizer.step()
        assert_close(W(x), F.linear(x, W.weight, W.bias), atol=1e-5, rtol=1e-5)
        assert not torch.equal(W(x), before)


@torch.no_grad()
def test_given_weights_are_those_that_are_used():
    W, x = packed(), torch.randn(16, 8)
    for s in (1.0, 2.0, 3.0):  # the memory of one may be that of the next
        y = torch.func.functional_call(W, {"weight": s * W.weight, "bias": 0 * W.bias}, (x,))
        assert_close(y, s * F.linear(x, W.weight), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_weight_that_is_computed_is_never_packed():
    W, x = packed(), torch.randn(16, 8)
    parametrize.register_parametrization(W, "weight", nn.Tanh())
    for _ in range(3):
        W.parametrizations.weight.original.add_(0.1)
        assert_close(W(x), F.linear(x, W.weight, W.bias), atol=1e-5, rtol=1e-5)
    assert not W._packs


@torch.inference_mode()
def test_a_weight_of_inference_mode_is_never_packed():
    W, other, x = packed(), linear.Linear(8, 6), torch.randn(16, 8)
    W(x)
    W.load_state_dict(other.state_dict())
    assert_close(W(x), other(x), atol=1e-5, rtol=1e-5)
    assert not W._packs


@torch.no_grad()
def test_other_memory_is_noticed():
    W, x = packed(), torch.randn(16, 8)
    for _ in range(4):
        W(x)
        W.weight.data = W.weight.data * 2.0
        assert_close(W(x), F.linear(x, W.weight, W.bias), atol=1e-4, rtol=1e-5)


@torch.no_grad()
def test_another_parameter_in_the_same_memory_is_noticed():
    W, x = packed(), torch.randn(16, 8)
    W(x)
    changes = W.weight._version
    W.weight = nn.Parameter(W.weight.data)
    while W.weight._version < changes:
        W.weight.mul_(2.0)
    assert_close(W(x), F.linear(x, W.weight, W.bias), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_what_was_laid_out_is_let_go_when_the_map_is_moved():
    W = packed()
    W(torch.randn(16, 8))
    assert W._packs
    assert W.double()._packs == {}


@torch.no_grad()
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda W: pickle.loads(pickle.dumps(W))])
def test_a_copy_has_a_weight_of_its_own(copied):
    W, x = packed(), torch.randn(16, 8)
    before = W(x)
    other = copied(W)
    other.weight.zero_()
    assert_close(W(x), before)
    assert_close(other(x), W.bias.expand(16, 6))
    assert set(W.state_dict()) == {"weight", "bias"}


@pytest.mark.parametrize("rows", [16, 200])
@pytest.mark.parametrize("autocast", [False, True])
def test_packed_weights_still_learn(rows, autocast):
    W, x = packed(), torch.randn(rows, 8)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        W(x).sum().backward()
    tolerance = 0.1 if autocast else 1e-5
    wanted = x.sum(dim=0).expand(6, 8)
    assert_close(W.weight.grad, wanted, atol=tolerance, rtol=tolerance)


@torch.no_grad()
def test_under_autocast_a_weight_is_converted_once():
    W, x = packed(), torch.randn(200, 8)
    with torch.autocast("cpu", torch.bfloat16):
        W(x)
        first, again = (W._laid_out(rows, torch.bfloat16) for rows in (200, 300))
    assert first is again
    assert torch.equal(first, W.weight.bfloat16())
