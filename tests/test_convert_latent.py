"""DeepSeek's attention in our stages, and plain attention squeezed through a latent."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import DeepseekV2Config, DeepseekV3Config, DynamicCache
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as v3

from mhsa_lib import MultiHeadAttention, convert, masks, trace
from mhsa_lib.absorbed import AbsorbedLatentAttention
from mhsa_lib.cache import remember
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention
from tests.drawn import filled, mha, rand

LIMIT = {torch.float32: 1e-5, torch.float64: 1e-10}
DTYPE = st.sampled_from(sorted(LIMIT, key=str))
PARTS = {
    "V2": (DeepseekV2Config, v2.DeepseekV2Attention, v2.DeepseekV2RotaryEmbedding),
    "V3": (DeepseekV3Config, v3.DeepseekV3Attention, v3.DeepseekV3RotaryEmbedding),
}
WIDTHS = {"qk_nope_head_dim": 4, "v_head_dim": 4, "qk_rope_head_dim": 4}
LATENTS = {"kv_lora_rank": 6, "q_lora_rank": 7}


def deepseek(kind: str, dtype=torch.float64, **options):
    """The attention and its rotary module, with biases and gains far from where they start."""
    config_of, attention_of, rotary_of = PARTS[kind]
    sizes = {"hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}
    config = config_of(**(sizes | WIDTHS | LATENTS | options), attn_implementation="eager")
    source = filled(attention_of(config, layer_idx=0))
    return source.to(dtype).eval(), rotary_of(config)


def theirs(source, rotary, x: Tensor, **options) -> tuple[Tensor, Tensor]:
    """One causal pass as their model calls it, in the precision of ``x`` from end to end.

    Their code goes down to float32 in norms, softmax and the turn, whatever it is given.
    """
    n, lowest = x.shape[-2], torch.finfo(x.dtype).min
    mask = torch.zeros(n, n).to(x.dtype).masked_fill(~masks.causal.dense(n, n), lowest)
    with pytest.MonkeyPatch.context() as patch:
        if x.dtype is torch.float64:
            patch.setattr(torch, "float32", torch.float64)
            patch.setattr(torch, "float", torch.float64)
            patch.setattr(Tensor, "float", Tensor.double)
            exact = torch.arange(0, rotary.config.qk_rope_head_dim, 2).double()
            exact = exact / rotary.config.qk_rope_head_dim
            rotary.inv_freq = 1.0 / rotary.config.rope_parameters["rope_theta"] ** exact
        places = rotary(x, torch.arange(n)[None])
        return source(x, position_embeddings=places, attention_mask=mask[None, None], **options)


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["V2", "V3"]),
    dtype=DTYPE,
    interleave=st.booleans(),
    q_lora_rank=st.sampled_from([None, 7]),
    widths=st.sampled_from([(4, 4), (6, 3), (2, 5)]),
    attention_bias=st.booleans(),
    theta=st.sampled_from([10_000.0, 100.0]),
)
def test_a_deepseek_layer_gives_the_same_numbers(
    kind, dtype, interleave, q_lora_rank, widths, attention_bias, theta
):
    options = {"rope_interleave": interleave} if kind == "V3" else {}
    source, rotary = deepseek(
        kind,
        dtype,
        q_lora_rank=q_lora_rank,
        qk_nope_head_dim=widths[0],
        v_head_dim=widths[1],
        attention_bias=attention_bias,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
        **options,
    )
    ours, x = convert.from_deepseek(source), rand(2, 7, 12).to(dtype)
    expected, weights = theirs(source, rotary, x)
    for form in (ours, AbsorbedLatentAttention(ours)):
        with trace(form) as wires:
            y = form(x, mask=masks.causal)
        assert y.dtype is dtype
        assert (y - expected).abs().max().item() <= LIMIT[dtype] * expected.abs().max().item()
        assert (wires["weights"] - weights).abs().max().item() <= LIMIT[dtype]


def test_token_by_token_it_keeps_what_theirs_keeps():
    source, rotary = deepseek("V2")
    ours, x, kept = convert.from_deepseek(source), rand(1, 7, 12), DynamicCache()
    expected, _ = theirs(source, rotary, x, past_key_values=kept)
    absorbed = AbsorbedLatentAttention(ours)
    with remember(absorbed) as cache:
        y = [absorbed(part, mask=masks.causal) for part in x.split(1, dim=1)]
    assert_close(torch.cat(y, dim=1), expected)
    assert_close(cache["latent"], kept.layers[0].keys[:, 0])
    assert_close(cache["k_rope"], kept.layers[0].values[:, 0])


def test_eps_dropout_and_mode_come_along():
    source, _ = deepseek("V3", attention_dropout=0.25)
    source.kv_a_layernorm.variance_epsilon = 0.5
    ours = convert.from_deepseek(source.train())
    assert (ours.project.norm.eps, ours.attend.dropout.p, ours.training) == (0.5, 0.25, True)


def test_what_is_not_converted_is_refused():
    yarn = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 40.0, "mscale_all_dim": 1.0}
    source, _ = deepseek("V3", rope_parameters=yarn | {"original_max_position_embeddings": 64})
    with pytest.raises(ValueError, match="rope_type='yarn' stretches the context, with other"):
        convert.from_deepseek(source)
    words = "from_deepseek takes DeepseekV2Attention or DeepseekV3Attention, not Linear; pass"
    with pytest.raises(TypeError, match=words):
        convert.from_deepseek(nn.Linear(12, 12))


# --- plain attention through a latent ---------------------------------------------------------


@settings(max_examples=30)
@given(
    st.integers(1, 3),
    st.sampled_from([None, 2, 7]),
    st.booleans(),
    st.sampled_from([None, masks.causal]),
)
def test_from_the_rank_on_nothing_is_lost(n_heads, d_head, bias, mask):
    source = mha(12, n_heads, d_head=d_head, bias=bias, dropout=0.3).eval()
    source.attend.scale = 0.7
    rank = min(12, 2 * source.d_head * n_heads)
    x, context = rand(2, 3, 12), rand(2, 5, 12)
    for d_latent in range(rank, 13):
        ours, lost = convert.mha_to_latent(source, d_latent)
        assert lost <= 1e-12
        assert (ours(x, context, mask) - source(x, context, mask)).abs().max().item() <= 1e-10
        assert ours.attend.dropout.p == 0.3
        assert not ours.training


@pytest.mark.parametrize("d_latent", [1, 4, 8, 11])
def test_what_is_lost_is_what_the_matrices_miss(d_latent):
    source = mha(12, 3)
    ours, lost = convert.mha_to_latent(source, d_latent)
    given = torch.cat([source.project.W_K.weight, source.project.W_V.weight])
    made = torch.cat([ours.split.W_UK.weight, ours.split.W_UV.weight])
    missed = given - made @ ours.project.W_DKV.weight
    assert abs(lost - (missed.norm() / given.norm()).item()) <= 1e-12
    other = nn.init.orthogonal_(torch.empty(d_latent, 12).double())
    assert lost < (given - given @ other.mT @ other).norm() / given.norm()
    smaller = convert.mha_to_latent(source, d_latent - 1)[1] if d_latent > 1 else 1.0
    assert lost < smaller


def test_weights_that_have_the_rank_of_the_latent_go_through_it_unchanged():
    source, x = mha(12, 3), rand(2, 6, 12)
    with torch.no_grad():
        both = rand(24, 4) @ rand(4, 12)
        source.project.W_K.weight.copy_(both[:12])
        source.project.W_V.weight.copy_(both[12:])
    ours, lost = convert.mha_to_latent(source, 4)
    assert lost <= 1e-12
    assert (ours(x) - source(x)).abs().max().item() <= 1e-10
    assert ours.project.W_DKV.weight.shape == (4, 12)


def test_a_padded_query_gets_the_bias_of_the_values_too():
    source, x = mha(12, 3, bias=True), rand(1, 4, 12)
    ours, _ = convert.mha_to_latent(source, 12)
    mask = masks.padding([2])
    assert_close(ours(x, mask=mask)[:, :2], source(x, mask=mask)[:, :2])
    moved = source.W_O.weight @ source.project.W_V.bias
    assert_close(ours(x, mask=mask)[0, 3], source(x, mask=mask)[0, 3] + moved)


def test_the_source_stays_as_it_is_and_precision_is_kept():
    source = MultiHeadAttention(12, 3, bias=True).to(torch.bfloat16)
    before = {name: value.clone() for name, value in source.state_dict().items()}
    ours, lost = convert.mha_to_latent(source, 6)
    assert {p.dtype for p in ours.parameters()} == {torch.bfloat16}
    assert 0 < lost < 1
    nn.init.zeros_(ours.W_O.weight)
    assert all(torch.equal(value, before[name]) for name, value in source.state_dict().items())


@pytest.mark.bothways
def test_a_source_that_cannot_be_compressed():
    with pytest.raises(TypeError, match="Linear has no conversion to a latent; only MultiH"):
        convert.mha_to_latent(nn.Linear(12, 12), 4)
    words = "split=GroupedSplit has no conversion to a latent; only Split has: pass an"
    with pytest.raises(ValueError, match=words):
        convert.mha_to_latent(GroupedQueryAttention(12, 6, 2), 4)
    with pytest.raises(ValueError, match="d_latent=13 is wider than d_model=12; a latent has"):
        convert.mha_to_latent(MultiHeadAttention(12, 3), 13)
    with pytest.raises(ValueError, match="d_latent=0 is not a size"):
        convert.mha_to_latent(MultiHeadAttention(12, 3), 0)
    assert isinstance(convert.mha_to_latent(MultiHeadAttention(12, 3), 12)[0], LatentAttention)
