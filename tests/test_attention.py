"""Multi-head attention against the loops, against torch, and against what it must not do."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, edit, functional, masks, naive, trace
from tests.helpers.drawn import Case, cases, mha, rand

# --- oracles ---------------------------------------------------------------------------------


@given(cases(max_batch_axes=1))
def test_it_is_the_definition_in_loops(case):
    assert_close(case.attention(*case.inputs), naive.loops(case.attention, *case.inputs))


@given(cases(max_batch_axes=1))
def test_it_is_the_definition_in_loops_under_any_mask(case):
    mask = case.any_mask()
    expected = naive.loops(case.attention, *case.inputs, mask=mask)
    assert_close(case.attention(*case.inputs, mask=mask), expected)


def _sdpa(case: Case, mask=None, **options):
    a = case.attention
    context = case.x if case.context is None else case.context
    q, k, v = (functional.split_heads(rows, a.n_heads) for rows in a.project(case.x, context))
    return a.W_O(
        functional.concat_heads(
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)
        )
    )


@given(cases())
def test_it_is_sdpa_between_the_projections(case):
    assert_close(case.attention(*case.inputs), _sdpa(case))


@given(cases())
def test_it_is_sdpa_under_a_mask_where_a_query_sees_something(case):
    mask = case.any_mask()
    mask[..., 0] = True
    assert_close(case.attention(*case.inputs, mask=mask), _sdpa(case, mask))


@given(cases(cross=False))
def test_causal_is_sdpas_causal_for_equal_lengths(case):
    assert_close(case.attention(case.x, mask=masks.causal), _sdpa(case, is_causal=True))


@given(
    st.integers(1, 3), st.integers(1, 4), st.booleans(), st.integers(1, 5), st.integers(1, 5)
)
def test_it_is_nn_multiheadattention_with_copied_weights(n_heads, d_head, bias, n_query, n_key):
    attention = mha(n_heads * d_head, n_heads, bias=bias)
    module = nn.MultiheadAttention(
        attention.d_model, n_heads, bias=bias, batch_first=True
    ).double()
    parts = attention.project.W_Q, attention.project.W_K, attention.project.W_V
    module.in_proj_weight.data = torch.cat([W.weight for W in parts])
    module.out_proj.weight.data = attention.W_O.weight.data
    if bias:
        module.in_proj_bias.data = torch.cat([W.bias for W in parts])
        module.out_proj.bias.data = attention.W_O.bias.data
    x, context = rand(2, n_query, attention.d_model), rand(2, n_key, attention.d_model)
    with trace(attention) as wires:
        y = attention(x, context)
    expected, weights = module(x, context, context, average_attn_weights=False)
    assert_close(y, expected)
    assert_close(wires["weights"], weights)


# --- what it is made of ----------------------------------------------------------------------


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


# --- properties ------------------------------------------------------------------------------


@given(cases())
def test_any_number_of_leading_axes_works(case):
    y = case.attention(*case.inputs)
    assert y.shape == (*case.batch, case.n_query, case.attention.d_model)
    if case.batch:
        first = case.attention(case.x[0], None if case.context is None else case.context[0])
        assert_close(y[0], first)


@given(cases())
def test_rows_of_weights_sum_to_one(case):
    with trace(case.attention) as wires:
        case.attention(*case.inputs)
    weights = wires["weights"]
    assert (weights >= 0).all()
    assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


@given(cases(cross=True), st.data())
def test_masked_keys_have_no_influence(case, data):
    forbidden = data.draw(st.integers(0, case.n_key - 1))
    mask = torch.arange(case.n_key) != forbidden
    changed = case.context.clone()
    changed[..., forbidden, :] += 100.0
    before = case.attention(case.x, case.context, mask=mask)
    assert torch.equal(case.attention(case.x, changed, mask=mask), before)


@given(cases(cross=False), st.randoms(use_true_random=False))
def test_permuting_the_tokens_permutes_the_outputs(case, random):
    order = random.sample(range(case.n_query), case.n_query)
    assert_close(case.attention(case.x[..., order, :]), case.attention(case.x)[..., order, :])


@given(cases(cross=True), st.randoms(use_true_random=False))
def test_the_order_of_the_context_does_not_matter(case, random):
    order = random.sample(range(case.n_key), case.n_key)
    shuffled = case.context[..., order, :]
    assert_close(case.attention(case.x, shuffled), case.attention(case.x, case.context))


@given(cases(cross=False), st.data())
def test_under_a_causal_mask_the_future_cannot_change_the_past(case, data):
    cut = data.draw(st.integers(0, case.n_query - 1))
    changed = case.x.clone()
    changed[..., cut:, :] += 1.0
    before = case.attention(case.x, mask=masks.causal)
    after = case.attention(changed, mask=masks.causal)
    assert torch.equal(before[..., :cut, :], after[..., :cut, :])


@given(cases(cross=False), st.data())
def test_the_last_queries_alone_give_the_last_outputs(case, data):
    n_last = data.draw(st.integers(1, case.n_query))
    whole = case.attention(case.x, mask=masks.causal)
    alone = case.attention(case.x[..., -n_last:, :], case.x, mask=masks.causal)
    assert_close(alone, whole[..., -n_last:, :])


@given(cases(cross=False))
def test_context_is_x_when_it_is_not_given(case):
    assert torch.equal(case.attention(case.x), case.attention(case.x, case.x))


@given(cases())
def test_swapping_two_heads_with_their_rows_of_w_o_changes_nothing(case):
    a = case.attention
    before = a(*case.inputs)
    order = torch.arange(a.n_heads * a.d_head).view(a.n_heads, a.d_head).flip(0).flatten()
    for W in (a.project.W_Q, a.project.W_K, a.project.W_V):
        W.weight.data = W.weight.data[order]
        if W.bias is not None:
            W.bias.data = W.bias.data[order]
    a.W_O.weight.data = a.W_O.weight.data[:, order]
    assert_close(a(*case.inputs), before)


# --- cut wires -------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["v", "v_heads", "weights", "z", "concat"])
def test_what_carries_values_cut_leaves_only_the_output_bias(wire):
    attention, x = mha(bias=True), rand(2, 5, 12)
    with edit(attention, wire, torch.zeros_like):
        assert_close(attention(x), attention.W_O.bias.expand(2, 5, 12))


@pytest.mark.parametrize("wire", ["q", "k", "q_heads", "k_heads", "scores"])
def test_what_carries_scores_cut_leaves_the_plain_average(wire):
    attention, x = mha(), rand(2, 5, 12)
    with edit(attention, wire, torch.zeros_like), trace(attention) as wires:
        y = attention(x)
    assert_close(wires["weights"], torch.full((2, 3, 5, 5), 1 / 5).double())
    mean = attention.project.W_V(x).mean(dim=1, keepdim=True)
    assert_close(y, attention.W_O(mean).expand(2, 5, 12))


def test_the_output_cut_is_zero():
    attention = mha(bias=True)
    with edit(attention, "y", torch.zeros_like):
        assert (attention(rand(5, 12)) == 0).all()


def test_swapping_two_heads_before_w_o_matters():
    attention, x = mha(), rand(2, 5, 12)
    with edit(attention, "z", lambda z: z[:, [1, 0, 2]]):
        swapped = attention(x)
    assert not torch.allclose(swapped, attention(x))
    d = attention.d_head
    rows_swapped = torch.cat(
        [attention.W_O.weight[:, i * d : (i + 1) * d] for i in (1, 0, 2)], 1
    )
    attention.W_O.weight.data = rows_swapped
    assert_close(attention(x), swapped)


def test_the_output_is_the_sum_of_what_each_head_writes():
    attention, x = mha(), rand(2, 5, 12)
    alone = []
    for i in range(3):
        only = torch.zeros(3, 1, 1).double().index_fill(0, torch.tensor(i), 1.0)
        with edit(attention, "z", lambda z, only=only: z * only):
            alone.append(attention(x))
    assert_close(sum(alone), attention(x))


def test_values_come_from_the_context_and_queries_from_x():
    attention, x, context = mha(), rand(2, 5, 12), rand(2, 7, 12)
    with trace(attention) as wires:
        attention(x, context)
    assert_close(wires["q"], attention.project.W_Q(x))
    assert_close(wires["k"], attention.project.W_K(context))
    assert_close(wires["v"], attention.project.W_V(context))


# --- conventions and hard inputs -------------------------------------------------------------


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    attention, x = mha(bias=True), rand(2, 4, 12).requires_grad_()
    with trace(attention) as wires:
        y = attention(x, mask=torch.zeros(4, 4, dtype=torch.bool))
    assert (wires["z"] == 0).all()
    assert_close(y, attention.W_O.bias.expand(2, 4, 12))
    y.square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in attention.parameters())


def test_the_z_of_a_padded_query_is_zero_and_its_y_the_bias_of_w_o():
    attention, x = mha(bias=True), rand(2, 4, 12)
    with trace(attention) as wires:
        y = attention(x, mask=masks.padding([4, 2]))
    assert (wires["z"][1, :, 2:] == 0).all()
    assert_close(y[1, 2:], attention.W_O.bias.expand(2, -1))
    assert_close(y[1, :2], attention(x[1, :2]))
    assert_close(y[0], attention(x[0]))


def test_key_padding_lets_padded_queries_look():
    attention, x = mha(), rand(1, 4, 12)
    y = attention(x, mask=masks.key_padding([2]))
    assert_close(y, attention(x, x[:, :2]))


@pytest.mark.parametrize("mask", [None, masks.causal, masks.padding([4, 4])])
def test_a_nan_in_the_input_stays_visible_and_in_its_sequence(mask):
    attention, x = mha(), rand(2, 4, 12)
    x[0, 2, 5] = float("nan")
    y = attention(x, mask=mask)
    assert y[0, 2:].isnan().all()
    assert y[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_large_scores_stays_finite(dtype):
    attention = MultiHeadAttention(64, 1).to(dtype)
    for W in attention.project.children():
        nn.init.eye_(W.weight)
    x = torch.full((1, 4, 64), 60.0, dtype=dtype)
    with trace(attention) as wires:
        y = attention(x, mask=masks.causal)
    assert wires["scores"].max() > 20_000
    assert y.isfinite().all()
    assert (wires["weights"][0, 0] > 0).equal(masks.causal.dense(4, 4))


@pytest.mark.parametrize("mask", [None, masks.causal])
def test_no_queries_give_an_empty_result(mask):
    y = mha(bias=True)(rand(2, 0, 12), rand(2, 3, 12), mask=mask)
    assert y.shape == (2, 0, 12)


@pytest.mark.parametrize("mask", [None, masks.causal])
def test_no_keys_are_like_nothing_to_see(mask):
    attention = mha(bias=True)
    y = attention(rand(2, 3, 12), rand(2, 0, 12), mask=mask)
    assert_close(y, attention.W_O.bias.expand(2, 3, 12))


def test_the_bias_of_k_does_nothing():
    attention, x = mha(bias=True), rand(2, 5, 12)
    before = attention(x)
    attention.project.W_K.bias.data += 7.0
    assert_close(attention(x), before)


def test_dropout_is_off_in_eval():
    attention, x = mha(dropout=0.5), rand(2, 5, 12)
    assert not torch.equal(attention.train()(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_gradients_of_one_head_reach_only_its_own_columns():
    attention, x = mha(), rand(5, 12)
    with trace(attention) as wires:
        attention(x)
    wires["z"][1].sum().backward()
    for W in attention.project.children():
        used = W.weight.grad.abs().sum(dim=1) > 0
        assert used.tolist() == [False] * 4 + [True] * 4 + [False] * 4
