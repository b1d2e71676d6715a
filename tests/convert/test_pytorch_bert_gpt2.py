"""Other people's attention in our five stages: same numbers in, same numbers out."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from transformers import BertConfig, GPT2Config, ImageGPTConfig
from transformers.models.bert.modeling_bert import BertAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.imagegpt.modeling_imagegpt import ImageGPTAttention

from mhsa_lib import FusedMultiHeadAttention, convert, costs, masks, trace, trace_ops
from mhsa_lib.masks.polarity import to_torch
from tests.helpers.drawn import filled, rand

LIMIT = {torch.float32: 1e-5, torch.float64: 1e-10}
DTYPE = st.sampled_from(sorted(LIMIT, key=str))
SIZE = st.integers(1, 4)


def randomized(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """In evaluation mode, with biases that are not zero."""
    return filled(module, std=0.3).to(dtype).eval()


def bert(n_heads: int, d_head: int, dtype: torch.dtype = torch.float64):
    config = BertConfig(
        hidden_size=n_heads * d_head, num_attention_heads=n_heads, attn_implementation="eager"
    )
    return randomized(BertAttention(config), dtype)


def gpt2(n_heads: int, d_head: int, dtype: torch.dtype = torch.float64, **options):
    config = GPT2Config(
        n_embd=n_heads * d_head, n_head=n_heads, attn_implementation="eager", **options
    )
    return randomized(GPT2Attention(config, layer_idx=3), dtype)


def torchs(n_heads: int, d_head: int, dtype: torch.dtype = torch.float64, **options):
    module = nn.MultiheadAttention(n_heads * d_head, n_heads, batch_first=True, **options)
    return randomized(module, dtype)


def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(batch, 1, query, key) of 0 and the lowest number, as Hugging Face's models make it."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)


def close(found, expected):
    assert found.dtype is expected.dtype
    assert (found - expected).abs().max().item() <= LIMIT[found.dtype]


# --- nn.MultiheadAttention -------------------------------------------------------------------


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


# --- BERT ------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(SIZE, SIZE, SIZE, DTYPE, st.sampled_from(["none", "padding", "causal"]))
def test_a_bert_layer_gives_the_same_numbers(n_heads, d_head, n, dtype, kind):
    source = bert(n_heads, d_head, dtype)
    ours, x = convert.from_bert(source), rand(2, n, n_heads * d_head).to(dtype)
    predicate = {"none": None, "padding": masks.key_padding([n, 1]), "causal": masks.causal}[
        kind
    ]
    dense = None if predicate is None else predicate.dense(n, n).expand(2, 1, n, n)
    added = None if dense is None else additive(dense, dtype)
    inner, weights = source.self(x, attention_mask=added)
    with trace(ours) as wires:
        y = ours(x, mask=predicate)
    close(y, source.output.dense(inner))
    close(wires["weights"], weights)


def test_the_whole_bert_layer_is_ours_plus_residual_and_norm():
    source, x = bert(3, 4), rand(2, 5, 12)
    expected = source(x)[0]
    close(source.output.LayerNorm(convert.from_bert(source)(x) + x), expected)


@pytest.mark.parametrize(("kind", "written"), [("eager", True), ("sdpa", False)])
def test_what_a_bert_layer_writes_depends_on_its_implementation(kind, written):
    config = BertConfig(hidden_size=12, num_attention_heads=3, attn_implementation=kind)
    source, n = randomized(BertAttention(config), torch.float64), 11
    ops = trace_ops(source, rand(2, n, 12))
    assert any(op.shape[-2:] == (n, n) for op in ops) == written
    assert ops.flops == sum(costs.flops(n, 12, 3, batch=2).values())


# --- GPT-2 -----------------------------------------------------------------------------------


@settings(max_examples=15)
@given(SIZE, SIZE, SIZE, DTYPE, st.booleans(), st.booleans(), st.booleans())
def test_a_gpt2_layer_gives_the_same_numbers(
    n_heads, d_head, n, dtype, scaled, by_layer, padded
):
    source = gpt2(
        n_heads,
        d_head,
        dtype,
        scale_attn_weights=scaled,
        scale_attn_by_inverse_layer_idx=by_layer,
    )
    ours, x = convert.from_gpt2(source), rand(2, n, n_heads * d_head).to(dtype)
    predicate = masks.causal & masks.key_padding([n, 1]) if padded else masks.causal
    expected, weights = source(
        x, attention_mask=additive(predicate.dense(n, n).expand(2, 1, n, n), dtype)
    )
    with trace(ours) as wires:
        y = ours(x, mask=predicate)
    close(y, expected)
    close(wires["weights"], weights)


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, 0.5),
        ({"scale_attn_weights": False}, 1.0),
        ({"scale_attn_by_inverse_layer_idx": True}, 0.125),
    ],
)
def test_the_scale_of_gpt2_comes_along(options, scale):
    assert convert.from_gpt2(gpt2(3, 4, **options)).attend.scale == scale


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, 0.5),
        ({"scale_attn_weights": False}, 1.0),
        ({"scale_attn_by_inverse_layer_idx": True}, 0.125),
    ],
)
def test_so_does_that_of_a_class_that_computes_it_as_it_goes(options, scale):
    config = ImageGPTConfig(n_embd=12, n_head=3, max_position_embeddings=8, **options)
    source = randomized(ImageGPTAttention(config, layer_idx=3), torch.float64)
    ours, x = convert.from_gpt2(source), rand(2, 5, 12)
    assert ours.attend.scale == scale
    close(ours(x, mask=masks.causal), source(x)[0])


def test_a_cross_attention_of_gpt2_is_refused():
    source = GPT2Attention(GPT2Config(n_embd=8, n_head=2), is_cross_attention=True)
    with pytest.raises(ValueError, match="this GPT2Attention is a cross-attention"):
        convert.from_gpt2(source)


# --- all three -------------------------------------------------------------------------------

SOURCES = {
    "from_torch": torchs,
    "from_bert": bert,
    "from_gpt2": gpt2,
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_converted_module_can_be_fused(name):
    ours, x = getattr(convert, name)(SOURCES[name](3, 4)), rand(2, 5, 12)
    fused = FusedMultiHeadAttention.from_attention(ours)
    assert_close(fused(x, mask=masks.causal), ours(x, mask=masks.causal))


@pytest.mark.parametrize("name", SOURCES)
def test_weights_are_copied_not_shared(name):
    source, x = SOURCES[name](3, 4), rand(2, 5, 12)
    ours = getattr(convert, name)(source)
    before = ours(x)
    for parameter in source.parameters():
        parameter.data.zero_()
    assert torch.equal(ours(x), before)
    assert all(parameter.requires_grad for parameter in ours.parameters())


@pytest.mark.parametrize("name", SOURCES)
def test_the_mode_comes_along(name):
    source = SOURCES[name](3, 4)
    assert not getattr(convert, name)(source).training
    assert getattr(convert, name)(source.train()).training


@pytest.mark.parametrize("name", ["from_bert", "from_gpt2"])
def test_dropout_on_the_weights_comes_along(name):
    assert getattr(convert, name)(SOURCES[name](3, 4)).attend.dropout.p == 0.1


def test_dropout_of_nn_multiheadattention_comes_along():
    assert convert.from_torch(torchs(3, 4, dropout=0.25)).attend.dropout.p == 0.25


@pytest.mark.parametrize("name", ["from_bert", "from_gpt2"])
def test_the_wrong_module_is_refused_by_name(name):
    words = (
        rf"Linear is not converted by convert\.{name}; only .*Attention or .* is known "
        "there: pass"
    )
    with pytest.raises(TypeError, match=words):
        getattr(convert, name)(nn.Linear(2, 2))


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
def test_from_torch_refuses_the_wrong_module_by_name():
    words = r"Linear is not converted by convert\.from_torch; only MultiheadAttention is "
    words += "known there: pass"
    with pytest.raises(TypeError, match=words):
        convert.from_torch(nn.Linear(2, 2))
