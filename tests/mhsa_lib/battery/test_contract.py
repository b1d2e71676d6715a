"""What every attention of this library must pass."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.registry import VARIANTS, every

unordered = pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if not v.positional], ids=lambda variant: variant.name
)
MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(2),
    "padding": masks.padding([6, 3]),
    "causal & documents": masks.causal
    & masks.documents([[0, 0, 1, 1, 1, -1], [5, 5, 5, 5, 2, 2]]),
    "causal & key padding": masks.causal & masks.key_padding([6, 3]),
}


@every
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", [False, True])
def test_it_contains_multi_head_attention(variant, mask, bias):
    plain = MultiHeadAttention(12, 3, bias=bias).double()
    x = rand(2, 6, 12)
    found, expected = variant.is_mha(plain)(x, mask=MASKS[mask]), plain(x, mask=MASKS[mask])
    assert (found - expected).abs().max().item() <= 1e-10


@every
def test_it_takes_x_context_and_mask_with_any_leading_axes(variant, attention):
    for batch in ((), (2,), (2, 3)):
        x, context = rand(*batch, 4, 12), rand(*batch, 6, 12)
        assert attention(x).shape == (*batch, 4, 12)
        assert attention(x, context, masks.causal).shape == (*batch, 4, 12)
        assert attention(x, context=context, mask=torch.ones(4, 6).bool()).shape == x.shape


@every
def test_one_sequence_of_a_batch_is_a_pass_of_its_own(variant, attention):
    x = rand(2, 3, 6, 12)
    assert_close(attention(x, mask=masks.causal)[1, 2], attention(x[1, 2], mask=masks.causal))


@unordered
def test_permuting_the_tokens_permutes_the_outputs(variant, attention):
    x, order = rand(2, 6, 12), torch.randperm(6)
    assert_close(attention(x[:, order]), attention(x)[:, order])


@every
def test_the_future_cannot_change_the_past(variant, attention):
    x = rand(2, 6, 12)
    for cut in range(6):
        changed = x.clone()
        changed[:, cut:] += 1.0
        before, after = attention(x, mask=masks.causal), attention(changed, mask=masks.causal)
        assert_close(before[:, :cut], after[:, :cut])
        assert not torch.allclose(before[:, cut], after[:, cut])


@every
@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_the_last_queries_alone_see_what_they_see_in_the_whole(variant, attention, chunk):
    x = rand(2, 6, 12)
    for mask in (masks.causal, masks.sliding_window(3), masks.prefix(2)):
        whole = attention(x, mask=mask)
        assert_close(attention(x[:, -chunk:], x, mask=mask), whole[:, -chunk:])


@every
def test_padding_has_no_influence_and_gets_the_output_bias(variant, attention):
    x = rand(2, 6, 12)
    y = attention(x, mask=masks.padding([6, 3]))
    assert_close(y[1, :3], attention(x[1, :3]))
    bias = 0.0 if attention.W_O.bias is None else attention.W_O.bias
    assert_close(y[1, 3:], torch.zeros(3, 12).double() + bias)


@every
def test_gradients_are_finite_when_a_query_sees_nothing(variant, attention):
    x = rand(2, 6, 12).requires_grad_()
    attention(x, mask=masks.padding([6, 0])).square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


@every
def test_every_parameter_takes_part(variant, attention):
    attention(rand(2, 6, 12)).square().sum().backward()
    for name, parameter in attention.named_parameters():
        if not name.endswith("W_K.bias"):  # shifts all scores of a query alike: no effect
            assert parameter.grad.abs().sum() > 1e-6, name


@every
def test_saving_and_loading_keeps_the_function(variant, attention):
    other, x = variant.build().double().eval(), rand(2, 6, 12)
    other.load_state_dict(attention.state_dict())
    assert torch.equal(other(x), attention(x))


@every
def test_a_mask_that_is_not_boolean_is_refused(variant, attention):
    with pytest.raises(TypeError, match="bool"):
        attention(rand(2, 6, 12), mask=torch.ones(6, 6))


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_stays_close(variant, attention, dtype):
    x = rand(2, 6, 12)
    expected = attention(x, mask=masks.causal)
    found = attention.to(dtype)(x.to(dtype), mask=masks.causal)
    assert found.dtype is dtype
    room = 64 * torch.finfo(dtype).eps * expected.abs().max().item()
    assert (found.double() - expected).abs().max().item() < room


# Compiling takes seconds: every class with every test, its other settings with `make slow`.
COMPILED = [
    pytest.param(v, marks=[pytest.mark.slow] * (" " in v.name), id=v.name) for v in VARIANTS
]


@pytest.mark.parametrize("variant", COMPILED)
@pytest.mark.nohook
def test_it_compiles_in_one_graph(variant, attention):
    x = rand(2, 6, 12)
    torch.compiler.reset()
    compiled = torch.compile(attention, fullgraph=True, backend="eager")
    assert_close(compiled(x, mask=masks.causal), attention(x, mask=masks.causal))
