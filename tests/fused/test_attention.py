"""The fused module is the five stages at the speed of the hardware, and nothing else."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, costs, masks, naive
from mhsa_lib.fused import linear_by
from mhsa_lib.stages import Attend, Split
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import cases, mha, rand


def fuse(attention):
    return FusedMultiHeadAttention.from_attention(attention)


# --- the same function -----------------------------------------------------------------------


@given(cases())
def test_it_equals_the_five_stages(case):
    assert_close(fuse(case.attention)(*case.inputs), case.attention(*case.inputs))


@given(cases(max_batch_axes=1))
def test_it_equals_the_loops_under_any_mask(case):
    mask = case.any_mask()
    expected = naive.loops(case.attention, *case.inputs, mask=mask)
    assert_close(fuse(case.attention)(*case.inputs, mask=mask), expected)


@given(cases())
def test_it_equals_the_five_stages_under_a_causal_mask_for_all_lengths(case):
    expected = case.attention(*case.inputs, mask=masks.causal)
    assert_close(fuse(case.attention)(*case.inputs, mask=masks.causal), expected)


@pytest.mark.parametrize("lengths", [(1, 1), (1, 5), (2, 5), (5, 5), (5, 2)], ids=str)
def test_under_a_causal_mask_the_queries_are_the_last_positions(lengths):
    attention, (x, context) = mha(bias=True), (rand(2, n, 12) for n in lengths)
    expected = naive.loops(attention, x, context, masks.causal.dense(*lengths))
    assert_close(fuse(attention)(x, context, mask=masks.causal), expected)


PREDICATES = {
    "window": masks.sliding_window(2),
    "prefix": masks.prefix(2),
    "padding": masks.padding([5, 3]),
    "key padding": masks.key_padding([5, 3]),
    "causal & padding": masks.causal & masks.padding([5, 3]),
    "not causal": ~masks.causal,
    "nothing": masks.causal & ~masks.causal,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_it_equals_the_five_stages_under_predicates(name):
    attention, x = mha(bias=True), rand(2, 5, 12)
    expected = attention(x, mask=PREDICATES[name])
    assert_close(fuse(attention)(x, mask=PREDICATES[name]), expected)


@given(cases())
def test_gradients_are_those_of_the_five_stages(case):
    attention, fused = case.attention, fuse(case.attention)
    attention(*case.inputs, mask=masks.causal).square().sum().backward()
    fused(*case.inputs, mask=masks.causal).square().sum().backward()
    project = attention.project
    packed = [W.weight.grad for W in (project.W_Q, project.W_K, project.W_V)]
    found = [getattr(fused, name).weight.grad for name in fused._held()]
    assert_close(*(torch.cat([grad.flatten() for grad in each]) for each in (found, packed)))
    assert_close(fused.W_O.weight.grad, attention.W_O.weight.grad)


@given(cases(cross=False), st.data())
def test_the_future_cannot_change_the_past(case, data):
    cut, fused = data.draw(st.integers(0, case.n_query - 1)), fuse(case.attention)
    changed = case.x.clone()
    changed[..., cut:, :] += 1.0
    before, after = (fused(x, mask=masks.causal) for x in (case.x, changed))
    assert_close(before[..., :cut, :], after[..., :cut, :])


def test_a_forbidden_score_does_not_matter_however_large():
    attention, x = mha(), rand(2, 5, 12)
    x[:, 3:] *= 1e6
    y = fuse(attention)(x, mask=masks.key_padding([3, 3]))
    assert_close(y[:, :3], attention(x[:, :3]))


SEEN = {
    "float32": (300, torch.float32, 1e-5),
    "bfloat16": (192, torch.bfloat16, 0.05),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_hook_or_a_wrapper_holds_stays_as_it_is(name):
    """Tiles may lay z over q where q is nobody else's."""
    n, dtype, tolerance = SEEN[name]
    fused, x = FusedMultiHeadAttention(12, 3).to(dtype), torch.randn(2, n, 12).to(dtype)
    kept = []

    def hook(module, args, y):
        kept.extend([y, y.clone()])
        return y.mean(dim=0, keepdim=True).expand_as(y)

    fused.W_QKV.register_forward_hook(hook)
    with linear_by("onednn"), torch.no_grad():
        y = fused(x)
    assert_close(y, fused(x), rtol=0, atol=tolerance)  # with gradients nothing is spent
    assert all(torch.equal(*kept[i : i + 2]) for i in (0, 2))


def test_what_came_in_stays_as_it_is():
    fused, x = FusedMultiHeadAttention(12, 3, d_context=8), torch.randn(2, 300, 12)
    fused.W_Q, before = nn.Identity(), x.clone()
    with linear_by("onednn"), torch.no_grad():
        fused(x, torch.randn(2, 300, 8))
    assert torch.equal(x, before)


# --- weights in, weights out -----------------------------------------------------------------


@given(cases())
def test_to_attention_undoes_from_attention(case):
    back = fuse(case.attention).to_attention()
    assert back.state_dict().keys() == case.attention.state_dict().keys()
    for name, value in case.attention.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
    assert back.attend.scale == case.attention.attend.scale
    assert torch.equal(back(*case.inputs), case.attention(*case.inputs))


def test_a_fused_module_of_its_own_can_be_taken_apart():
    fused = FusedMultiHeadAttention(10, 3, d_head=8, bias=True, dropout=0.25).double().eval()
    attention, x = fused.to_attention(), rand(2, 5, 10)
    assert_close(attention(x), fused(x))
    assert not attention.training
    assert attention.attend.dropout.p == 0.25


def test_no_memory_is_shared_with_the_source():
    attention, x = mha(bias=True), rand(5, 12)
    fused = fuse(attention)
    back, before = fused.to_attention(), fused(x)
    for parameter in attention.parameters():
        parameter.data.zero_()
    assert torch.equal(fused(x), before)
    for parameter in fused.parameters():
        parameter.data.zero_()
    assert_close(back(x), before)


@pytest.mark.parametrize("bias", [False, True])
def test_it_has_the_same_number_of_parameters(bias):
    fused = FusedMultiHeadAttention(10, 3, d_head=8, bias=bias)
    expected = sum(costs.parameters(10, 3, d_head=8, bias=bias).values())
    assert sum(parameter.numel() for parameter in fused.parameters()) == expected


def test_dtype_mode_dropout_and_a_changed_scale_come_along():
    attention = mha(dropout=0.25).float().eval()
    attention.attend.scale = 0.1
    fused, x = fuse(attention), torch.randn(2, 5, 12)
    assert fused.W_QKV.weight.dtype is torch.float32
    assert not fused.training
    assert (fused.dropout, fused.scale) == (0.25, 0.1)
    assert_close(fused(x), attention(x))
    assert fuse(attention.train()).training


@pytest.mark.parametrize("stage", ["split", "attend", "W_O"])
def test_a_stage_without_a_fused_form_is_refused(stage):
    class OwnSplit(Split):
        def forward(self, q, k, v):
            return super().forward(q, k, v)

    class OwnAttend(Attend):
        def forward(self, q, k, v, mask=None):
            return super().forward(q, k, v, mask)

    own = {"split": OwnSplit(3), "attend": OwnAttend(0.5), "W_O": nn.Identity()}[stage]
    words = (
        rf"{stage}={type(own).__name__} has no fused form; only .* is known there: "
        "use the five stages"
    )
    with pytest.raises(ValueError, match=words):
        fuse(mha(**{stage: own}))


# --- shared keys and values ------------------------------------------------------------------

GROUPS = st.sampled_from([(1, 1), (2, 1), (4, 2), (6, 3), (6, 1)])


def grouped(n_heads=6, n_kv_heads=2, **options):
    attention = GroupedQueryAttention(12, n_heads, n_kv_heads, **options).double()
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.5)
    return attention


@given(GROUPS, st.integers(1, 4), st.booleans(), st.integers(1, 4), st.integers(1, 5))
def test_it_equals_the_five_stages_of_grouped_query_attention(heads, d_head, bias, nq, nk):
    attention = grouped(*heads, d_head=d_head, bias=bias)
    fused, x, context = fuse(attention), rand(2, nq, 12), rand(2, nk, 12)
    for mask in (None, masks.causal, torch.rand(2, heads[0], nq, nk) < 0.5):
        assert_close(fused(x, context, mask), attention(x, context, mask))


@given(GROUPS, st.integers(1, 4), st.booleans())
def test_the_round_trip_of_grouped_query_attention_changes_no_bit(heads, d_head, bias):
    attention, x = grouped(*heads, d_head=d_head, bias=bias), rand(5, 12)
    attention.attend.scale = 0.3
    fused = fuse(attention)
    back = fused.to_attention()
    assert (fused.n_heads, fused.n_kv_heads) == heads
    assert back.state_dict().keys() == attention.state_dict().keys()
    for name, value in attention.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
    assert torch.equal(back(x), attention(x))
    assert isinstance(back, GroupedQueryAttention) == (heads[0] != heads[1])


def test_gradients_are_those_of_grouped_query_attention():
    attention = grouped()
    fused, x = fuse(attention), rand(2, 5, 12)
    attention(x, mask=masks.causal).square().sum().backward()
    fused(x, mask=masks.causal).square().sum().backward()
    project = attention.project
    packed = [W.weight.grad for W in (project.W_Q, project.W_K, project.W_V)]
    assert_close(fused.W_QKV.weight.grad, torch.cat(packed))


def test_shared_heads_make_the_packed_map_smaller():
    fused = FusedMultiHeadAttention(12, 6, n_kv_heads=2, d_head=5)
    expected = costs.parameters(12, 6, n_kv_heads=2, d_head=5)
    assert sum(parameter.numel() for parameter in fused.parameters()) == sum(expected.values())
    assert fused.W_QKV.out_features == 30 + 10 + 10


@pytest.mark.bothways
def test_shared_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="n_kv_heads=4 does not divide n_heads=6; try"):
        FusedMultiHeadAttention(12, 6, n_kv_heads=4)


# --- conventions and hard inputs -------------------------------------------------------------


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    attention, x = mha(bias=True), rand(2, 4, 12).requires_grad_()
    fused = fuse(attention)
    y = fused(x, mask=masks.padding([4, 0]))
    assert_close(y[1], attention.W_O.bias.expand(4, -1))
    y.square().sum().backward()
    assert x.grad.isfinite().all()
    assert (x.grad[1] == 0).all()
    assert all(parameter.grad.isfinite().all() for parameter in fused.parameters())


def test_dropout_is_on_in_training_and_off_in_eval():
    fused, x = fuse(mha(dropout=0.5)), rand(2, 5, 12)
    padded = masks.padding([5, 3]), masks.key_padding([5, 3])
    for mask in (None, masks.causal, masks.sliding_window(3), *padded):
        torch.manual_seed(0)
        assert not torch.equal(fused.train()(x, mask=mask), fused(x, mask=mask))
        assert torch.equal(fused.eval()(x, mask=mask), fused(x, mask=mask))


def test_a_nan_in_the_input_stays_visible_and_in_its_sequence():
    fused, x = fuse(mha()), rand(2, 4, 12)
    x[0, 2, 5] = float("nan")
    for mask in (None, masks.causal, masks.padding([4, 4])):
        y = fused(x, mask=mask)
        assert y[0, 2:].isnan().all()
        assert y[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_large_scores_stays_finite(dtype):
    fused = FusedMultiHeadAttention(64, 1).to(dtype)
    fused.W_QKV.weight.data = torch.eye(64, dtype=dtype).repeat(3, 1)
    x = torch.full((1, 4, 64), 60.0, dtype=dtype)
    for mask in (None, masks.causal, masks.key_padding([3])):
        assert fused(x, mask=mask).isfinite().all()


@pytest.mark.parametrize("mask", [None, masks.causal])
@pytest.mark.parametrize(("n_query", "n_key"), [(0, 0), (0, 3), (3, 0)])
def test_empty_sequences_are_those_of_the_five_stages(n_query, n_key, mask):
    attention, x, context = mha(bias=True), rand(2, n_query, 12), rand(2, n_key, 12)
    y = fuse(attention)(x, context, mask=mask)
    assert_close(y, attention(x, context, mask=mask))
    assert y.isfinite().all()


# --- a context of another width --------------------------------------------------------------


@given(GROUPS, st.integers(1, 9), st.booleans(), st.integers(0, 4), st.integers(0, 5))
def test_a_context_may_have_another_width(heads, d_context, bias, n_query, n_key):
    attention = grouped(*heads, d_context=d_context, bias=bias)
    fused, x, context = fuse(attention), rand(2, n_query, 12), rand(2, n_key, d_context)
    assert fused.d_context == d_context
    for mask in (None, masks.causal, torch.rand(2, heads[0], n_query, n_key) < 0.5):
        assert_close(fused(x, context, mask), attention(x, context, mask))
    back = fused.to_attention()
    assert back.d_context == d_context
    for name, value in attention.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize("grad", [False, True])
def test_packed_it_reads_contexts_of_another_width_at_every_length(n, grad):
    fused = FusedMultiHeadAttention(12, 3, d_context=7, bias=True).pack()
    attention, x, context = fused.to_attention(), torch.randn(2, n, 12), torch.randn(2, 9, 7)
    with torch.set_grad_enabled(grad):
        assert_close(fused(x, context), attention(x, context), atol=1e-5, rtol=1e-5)
    found = [tuple(W.weight.shape) for W in (fused.W_Q, fused.W_KV, fused.W_O)]
    assert found == [(12, 12), (24, 7), (12, 12)]


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize("mask", [None, masks.causal, masks.padding([5, 3])], ids=str)
def test_a_context_of_another_width_has_to_be_given(mask, n):
    fused = FusedMultiHeadAttention(12, 3, d_context=7)
    words = rf"context is 12 wide, shape \(2, {n}, 12\), but d_context=7; the last axis must be"
    with torch.no_grad(), pytest.raises(ValueError, match=words):
        fused(torch.randn(2, n, 12), mask=mask)


@pytest.mark.bothways
def test_a_context_of_another_width_has_no_cache():
    fused = FusedMultiHeadAttention(12, 3, d_context=7)
    words = "a cache grows with x, but d_context=7 is not d_model=12; keys of a context do not"
    with pytest.raises(ValueError, match=words):
        fused.cache(2, 8)
    with pytest.raises(ValueError, match="d_context=0 is not a size"):
        FusedMultiHeadAttention(12, 3, d_context=0)
