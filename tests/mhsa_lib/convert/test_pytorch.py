"""PyTorch's own attention in our five stages: same numbers in, same numbers out."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from mhsa_lib import convert, masks, trace
from mhsa_lib.masks.polarity import to_torch
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.precision import DTYPE, close
from tests.mhsa_lib.convert.sources import SIZE, torchs


@given(SIZE, SIZE, SIZE, SIZE, st.booleans(), DTYPE)
def test_nn_multiheadattention_gives_the_same_numbers(n_heads, d_head, nq, nk, bias, dtype):
    source = torchs(n_heads, d_head, dtype, bias=bias)
    ours = convert.from_torch(source)
    x, context = (rand(2, n, n_heads * d_head).to(dtype) for n in (nq, nk))
    with trace(ours) as wires:
        y = ours(x, context)
    expected, weights = source(x, context, context, average_attn_weights=False)
    close(y, expected)
    close(wires["weights"], weights)


@given(SIZE, SIZE, SIZE, DTYPE)
def test_it_does_so_under_causal_and_key_padding_masks(n_heads, d_head, n, dtype):
    source = torchs(n_heads, d_head, dtype)
    ours, x = convert.from_torch(source), rand(2, n, n_heads * d_head).to(dtype)
    mask, padded = (
        masks.causal.dense(n, n),
        torch.tensor([[False], [True]]).expand(2, n).clone(),
    )
    padded[:, 0] = False
    expected = source(x, x, x, attn_mask=to_torch(mask), key_padding_mask=padded)[0]
    close(ours(x, mask=mask & ~padded[:, None, None, :]), expected)
    predicate = masks.causal & masks.key_padding([n, 1])
    close(ours(x, mask=predicate), expected)


def test_converting_there_and_back_is_the_identity():
    source = torchs(3, 4)
    ours, back = convert.from_torch(source), torchs(3, 4)
    project = ours.project
    back.in_proj_weight.data = torch.cat(
        [W.weight for W in (project.W_Q, project.W_K, project.W_V)]
    )
    back.in_proj_bias.data = torch.cat(
        [W.bias for W in (project.W_Q, project.W_K, project.W_V)]
    )
    back.out_proj.load_state_dict(ours.W_O.state_dict())
    for name, value in source.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kdim": 5}, "kdim=5 differs from vdim=12; keys and values come from one context"),
        ({"vdim": 5}, "kdim=12 differs from vdim=5"),
        ({"add_bias_kv": True}, "add_bias_kv and add_zero_attn add keys"),
        ({"add_zero_attn": True}, "add_bias_kv and add_zero_attn add keys"),
    ],
)
def test_what_our_attention_does_not_have_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        convert.from_torch(nn.MultiheadAttention(12, 3, **options))


def test_dropout_of_nn_multiheadattention_comes_along():
    assert convert.from_torch(torchs(3, 4, dropout=0.25)).attend.dropout.p == 0.25


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
def test_from_torch_refuses_the_wrong_module_by_name():
    words = r"Linear has no conversion by convert\.from_torch; only MultiheadAttention is "
    words += "known there: pass"
    with pytest.raises(TypeError, match=words):
        convert.from_torch(nn.Linear(2, 2))
