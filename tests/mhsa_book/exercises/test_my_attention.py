"""Attention written unaided: the class is accepted in several forms, and each bug is named."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_book.conversions import fill
from mhsa_book.equivalence import comparison
from mhsa_book.equivalence.own import SIZES, own
from mhsa_book.exercises import bugs, check, solutions
from mhsa_book.exercises.reference import multi_head_attention
from mhsa_lib import MultiHeadAttention

pytestmark = pytest.mark.nohook  # many calls, which take several times as long under the hook

MAPS = ("W_Q", "W_K", "W_V", "W_O")


class Maps(nn.Module):
    """Four maps, and whatever ``function`` makes of them."""

    function = staticmethod(multi_head_attention)

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        for name in MAPS:
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, context=None, mask=None):
        if context is not None:
            return Fused.forward(self, x, context, mask)
        return self.function(
            x, *(getattr(self, name).weight.mT for name in MAPS), self.n_heads, mask
        )


class Fused(Maps):
    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        rows = self.W_Q(x), self.W_K(context), self.W_V(context)
        q, k, v = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in rows)
        return self.W_O(sdpa(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))


def made(function):
    return type("MyAttention", (Maps,), {"function": staticmethod(function)})


@pytest.mark.parametrize("build", [solutions.MyAttention, Maps, Fused])
def test_it_is_accepted_however_it_is_written(build):
    assert check("MyAttention", build), check("MyAttention", build).text


@pytest.mark.parametrize("bug", bugs.wholes())
def test_an_exhibit_is_refused_and_named(bug):
    verdict = check("MyAttention", made(bugs.wholes()[bug]))
    assert verdict.state == "wrong"
    assert bug in verdict.text


def test_a_class_without_a_forward_is_not_written_yet():
    class Mine(nn.Module): ...

    assert check("MyAttention", Mine).state == "unfilled"
    results = comparison.build(SIZES[:1], [torch.float32], ["mine"], {"mine": own(Mine)})
    assert {(each.delta, each.reason) for each in results} == {(None, "not written")}


def test_a_forward_of_dots_is_not_written_yet():
    class Mine(Maps):
        def forward(self, x, context=None, mask=None): ...

    assert check("MyAttention", Mine).state == "unfilled"
    results = comparison.build(SIZES[:1], [torch.float32], ["mine"], {"mine": own(Mine)})
    assert {each.reason for each in results} == {"not written"}


def test_what_is_no_class_is_said():
    assert "is no class" in check("MyAttention", solutions.MyAttention(4, 2)).text
    assert "is no class" in check("MyAttention", len).text


def test_other_parameters_are_refused_by_name():
    class Biased(Maps):
        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads)
            self.W_O = nn.Linear(d_model, d_model)

    assert "W_O.bias (2,)" in check("MyAttention", Biased).text
    weights = {name: torch.eye(2) for name in MAPS}
    with pytest.raises(ValueError, match=r"W_O.bias \(2,\).*nn.Linear"):
        fill(Biased(2, 1), weights)
    with pytest.raises(ValueError, match="the module has no parameters"):
        fill(nn.Module(), weights)
    with pytest.raises(
        ValueError, match=r"W_Q.weight \(4, 4\).*needed are W_Q.weight \(2, 2\)"
    ):
        fill(Maps(4, 2), weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_right_class_passes_the_wall_with_another_s_tokens_too(dtype):
    rows = {"mine": own(solutions.MyAttention)}
    results = comparison.build(SIZES, [dtype], rows, rows)
    assert {each.reason for each in results if each.delta is None} == set()
    assert all(each.passed for each in results)
    assert any(each.size.n_query != each.size.n_key for each in results)


class NeverReadsContext(Fused):
    def forward(self, x, context=None, mask=None):
        return super().forward(x, mask=mask)


class ForgetsTheMaskOfAContext(Fused):
    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask if context is None else None)


def test_a_class_that_never_reads_its_context_is_not_right():
    verdict = check("MyAttention", NeverReadsContext)
    assert verdict.state == "wrong"
    assert "Without a context it is right" in verdict.text
    assert "context = tensor" in verdict.text
    assert check("MyAttention", ForgetsTheMaskOfAContext).state == "wrong"


def test_a_class_that_raises_on_the_wall_fails_there_and_the_others_are_compared():
    rows = {"mine": own(NeverReadsContext), "right": own(solutions.MyAttention)}
    results = comparison.build(SIZES, [torch.float32], rows, rows)
    failed = [each for each in results if not each.passed]
    assert {(each.implementation, each.size) for each in failed} == {("mine", SIZES[-1])}
    assert any("RuntimeError" in each.reason for each in failed)
    assert comparison.matrix(results, torch.float32)["mine"]["causal"] == float("inf")


def test_a_class_that_reads_another_context_fails_on_the_wall():
    class Other(Fused):
        def forward(self, x, context=None, mask=None):
            return super().forward(x, None if context is None else context.roll(1, 0), mask)

    results = comparison.build(SIZES, [torch.float32], ["mine"], {"mine": own(Other)})
    failed = {each.size for each in results if not each.passed and each.mask == "none"}
    assert failed == {SIZES[-1]}


def test_filled_it_is_the_library_s():
    ours = MultiHeadAttention(12, 3)
    maps = {name: getattr(ours.project, name).weight for name in MAPS[:3]}
    theirs = fill(solutions.MyAttention(12, 3), {**maps, "W_O": ours.W_O.weight})
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(theirs(x), ours(x))


def test_all_heads_at_once_takes_no_loop():
    def loop(q, k, v):
        return torch.stack([sdpa(*head) for head in zip(q, k, v, strict=True)])

    assert "something runs once for each head" in check("all_heads_at_once", loop).text
    assert check("all_heads_at_once", solutions.all_heads_at_once)
    assert check("all_heads_at_once", lambda q, k, v: sdpa(q, k, v))


def test_quick_and_wrong_is_wrong():
    verdict = check("all_heads_at_once", lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v)
    assert "The smallest input that shows it" in verdict.text
