"""What multi-head attention is made of: four maps, five stages, a scale."""

from inspect import signature

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from tests.helpers.drawn import mha, rand


def test_the_transposed_weight_is_the_w_of_the_formulas():
    attention, x = mha(4, 1), rand(3, 4)
    W_Q, W_K, W_V, W_O = (
        W.weight.T
        for W in (
            attention.project.W_Q,
            attention.project.W_K,
            attention.project.W_V,
            attention.W_O,
        )
    )
    A = torch.softmax((x @ W_Q) @ (x @ W_K).T / 2, dim=-1)
    assert_close(attention(x), A @ (x @ W_V) @ W_O)


def test_parameters_are_four_linear_maps():
    names = {name for name, _ in mha(bias=True).named_parameters()}
    maps = "project.W_Q", "project.W_K", "project.W_V", "W_O"
    assert names == {f"{W}.{part}" for W in maps for part in ("weight", "bias")}
    assert {name for name, _ in mha().named_parameters()} == {f"{W}.weight" for W in maps}


def test_d_head_is_d_model_over_n_heads_or_free():
    assert MultiHeadAttention(12, 3).d_head == 4
    free = MultiHeadAttention(10, 3, d_head=8)
    assert free.project.W_Q.weight.shape == (24, 10)
    assert free.W_O.weight.shape == (10, 24)
    assert free(torch.randn(2, 5, 10)).shape == (2, 5, 10)


def test_the_scale_is_one_over_the_root_of_d_head():
    assert MultiHeadAttention(12, 3).attend.scale == pytest.approx(0.5)
    assert MultiHeadAttention(10, 3, d_head=16).attend.scale == pytest.approx(0.25)


@pytest.mark.parametrize("stage", ["project", "split", "attend", "concat", "W_O"])
def test_a_stage_that_is_passed_in_is_the_one_that_runs(stage):
    standard = mha()
    own = getattr(standard, stage)
    attention = mha(**{stage: own})
    assert getattr(attention, stage) is own
    ran = []
    own.register_forward_hook(lambda *_: ran.append(stage))
    attention(rand(5, 12))
    assert ran == [stage]


@pytest.mark.parametrize("stage", ["project", "split", "attend", "concat", "W_O"])
def test_an_empty_container_is_a_stage_too(stage):
    empty = nn.Sequential()  # an identity; false where it is asked for its truth
    assert getattr(MultiHeadAttention(12, 3, **{stage: empty}), stage) is empty


class Spied(nn.Module):
    """A stage that notes its name, what it is given and what it returns."""

    def __init__(self, name, stage, calls):
        super().__init__()
        self.name, self.stage, self.calls = name, stage, calls

    def forward(self, *given):
        out = self.stage(*given)
        outs = out if isinstance(out, tuple) else (out,)
        self.calls.append((self.name, given, outs))
        return out


class Operations(TorchFunctionMode):
    """Every operation on tensors outside a stage."""

    def __init__(self, inside):
        super().__init__()
        self.inside, self.seen = inside, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if not self.inside:
            self.seen.append(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.nohook  # the hook asks every tensor for its shape, which is an operation too
@pytest.mark.parametrize("given", ["x", "x and context", "x, context and mask"])
def test_each_stage_is_called_once_in_order_with_what_the_one_before_returned(given):
    standard, calls, inside = mha(bias=True), [], []
    names = ["project", "split", "attend", "concat", "W_O"]
    attention = mha(
        bias=True, **{n: Spied(n, getattr(standard, n), calls) for n in names}
    ).eval()
    for name in names:
        stage = getattr(attention, name)
        stage.register_forward_pre_hook(lambda *_: inside.append(True))
        stage.register_forward_hook(lambda *_: inside.clear())
    x = rand(5, 12)
    context = rand(7, 12) if "context" in given else x
    mask = torch.rand(5, 7) > 0.3 if "mask" in given else None
    operations = Operations(inside)
    with operations:
        y = attention(x, None if context is x else context, mask)
    assert [name for name, _, _ in calls] == names
    inputs, outputs = [each[1] for each in calls], [each[2] for each in calls]
    expected = [(x, context), outputs[0], (*outputs[1], mask), outputs[2], outputs[3]]
    for got, wanted in zip(inputs, expected, strict=True):
        assert len(got) == len(wanted)
        assert all(one is other for one, other in zip(got, wanted, strict=True))
    assert y is outputs[4][0]
    assert operations.seen == []  # the pass does nothing of its own


@pytest.mark.parametrize(
    ("kind", "more"), [(MultiHeadAttention, []), (FusedMultiHeadAttention, ["cache"])]
)
def test_a_pass_takes_x_context_and_mask(kind, more):
    asked = signature(kind.forward).parameters
    assert [*asked] == ["self", "x", "context", "mask", *more]
    assert all(asked[name].default is None for name in ["context", "mask", *more])
