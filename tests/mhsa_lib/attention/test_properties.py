"""What holds for any input: order, masks, batches, heads."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib import masks, trace
from tests.helpers.drawn import cases


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
