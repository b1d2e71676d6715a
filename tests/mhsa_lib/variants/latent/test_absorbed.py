"""The absorbed form is the same function with the same parameters."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_lib import masks, trace
from mhsa_lib.variants import MultiQueryAttention
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.latent.layers import cases, latent


@given(cases(), st.integers(1, 4), st.integers(1, 5), st.sampled_from([None, masks.causal]))
def test_the_absorbed_form_computes_the_same(case, n_query, n_key, mask):
    mla, x, context = (
        case[0],
        rand(2, n_query, case[0].d_model),
        rand(2, n_key, case[0].d_model),
    )
    absorbed = AbsorbedLatentAttention(mla)
    with trace(mla) as plain:
        mla(x, context, mask)
    with trace(absorbed) as wires:
        absorbed(x, context, mask)
    for wire in ("q", "latent", "k_rope", "scores", "weights", "z", "concat", "y"):
        assert_close(wires[wire], plain[wire], rtol=0, atol=1e-10)


def test_it_is_multi_query_attention_over_latents():
    absorbed = AbsorbedLatentAttention(latent(12, 3, 5, 2))
    with trace(absorbed) as wires:
        absorbed(rand(4, 12))
    sizes = wires.sizes
    assert (sizes["kv_head"], sizes["d_absorbed"], sizes["d_latent"]) == (1, 7, 5)
    assert torch.equal(wires["v_shared"], wires["k_shared"][..., :5])
    assert wires.steps["v_shared"].result == "view"
    many = MultiQueryAttention(12, 3, d_head=5).double()
    mask, q = masks.causal, wires["q_absorbed"][..., :5]
    many.attend.scale = absorbed.attend.scale
    only = AbsorbedLatentAttention(latent(12, 3, 5, 0)).attend
    only.scale = many.attend.scale
    v = wires["v_shared"]
    assert_close(only(q, v, v, mask), many.attend(q, v, v, mask))


def test_both_forms_hold_the_same_parameters():
    mla, x = latent(12, 3, 5, 2, d_q_latent=7, bias=True), rand(2, 6, 12)
    absorbed = AbsorbedLatentAttention(mla)
    assert {id(p) for p in absorbed.parameters()} == {id(p) for p in mla.parameters()}
    assert not {id(m) for m in absorbed.modules()} & {id(m) for m in mla.modules()}
    mla(x).square().sum().backward()
    expected = {id(p): p.grad.clone() for p in mla.parameters()}
    mla.zero_grad()
    absorbed(x).square().sum().backward()
    for parameter in absorbed.parameters():
        assert_close(parameter.grad, expected[id(parameter)])


def test_dropout_and_mode_come_along():
    mla, x = latent(12, 3, 5, 2, dropout=0.5), rand(2, 6, 12)
    y = {}
    for training in (True, False):
        forms = mla.train(training), AbsorbedLatentAttention(mla)
        torch.manual_seed(1)
        y[training] = forms[0](x)
        torch.manual_seed(1)
        assert_close(forms[1](x), y[training])
    assert not torch.allclose(y[True], y[False])
