"""DeepSeek's attention in our stages: the same numbers, and what is refused."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import LoraConfig, inject_adapter_in_model
from torch import nn
from torch.testing import assert_close
from transformers import DeepseekV2Config, DeepseekV3Config, DynamicCache
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as v3

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_lib import convert, masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED, reordered
from tests.helpers.drawn import filled, rand
from tests.helpers.theirs import theirs
from tests.mhsa_lib.convert.precision import DTYPE, LIMIT

PARTS = {
    "V2": (DeepseekV2Config, v2.DeepseekV2Attention, v2.DeepseekV2RotaryEmbedding),
    "V3": (DeepseekV3Config, v3.DeepseekV3Attention, v3.DeepseekV3RotaryEmbedding),
}
WIDTHS = {"qk_nope_head_dim": 4, "v_head_dim": 4, "qk_rope_head_dim": 4}
LATENTS = {"kv_lora_rank": 6, "q_lora_rank": 7}


def deepseek(kind: str, dtype=torch.float64, **options):
    """The attention and its rotary class, with biases and gains far from where they start."""
    config_of, attention_of, rotary_of = PARTS[kind]
    sizes = {"hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}
    options = {"max_position_embeddings": 32, **options}
    config = config_of(**(sizes | WIDTHS | LATENTS | options), attn_implementation="eager")
    source = filled(attention_of(config, layer_idx=0))
    return source.to(dtype).eval(), rotary_of


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
STRETCHES = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "yarn as in V2": YARN | {"mscale": 0.707, "mscale_all_dim": 0.707},
    "yarn as in V3": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 2.0},
    "yarn with two magnitudes": YARN | {"mscale": 1.0, "mscale_all_dim": 0.5},
    "yarn as in the paper": YARN,
}


@given(
    kind=st.sampled_from(["V2", "V3"]),
    dtype=DTYPE,
    interleave=st.booleans(),
    q_lora_rank=st.sampled_from([None, 7]),
    widths=st.sampled_from([(4, 4), (6, 3), (2, 5)]),
    attention_bias=st.booleans(),
    scaling=st.sampled_from(sorted(STRETCHES)),
    n=st.sampled_from([1, 8, 9, 40]),
)
def test_a_deepseek_layer_gives_the_same_numbers(
    kind, dtype, interleave, q_lora_rank, widths, attention_bias, scaling, n
):
    source, rotary = deepseek(
        kind,
        dtype,
        q_lora_rank=q_lora_rank,
        qk_nope_head_dim=widths[0],
        v_head_dim=widths[1],
        attention_bias=attention_bias,
        rope_parameters={"rope_theta": 100.0, **STRETCHES[scaling]},
        rope_interleave=interleave,
    )
    ours, x = convert.from_deepseek(source), rand(2, n, 12).to(dtype)
    expected, weights = theirs(source, rotary, x)
    for form in (ours, AbsorbedLatentAttention(ours)):
        with trace(form) as wires:
            y = form(x, mask=masks.causal)
        assert y.dtype is dtype
        assert (y - expected).abs().max().item() <= LIMIT[dtype] * expected.abs().max().item()
        assert (wires["weights"] - weights).abs().max().item() <= LIMIT[dtype]


@pytest.mark.parametrize("interleave", [True, False])
@pytest.mark.parametrize("kind", PARTS)
def test_v2_pairs_neighbours_whatever_its_configuration_says(kind, interleave):
    source, rotary = deepseek(kind, rope_interleave=interleave)
    x = rand(2, 9, 12)
    y = convert.from_deepseek(source)(x, mask=masks.causal)
    assert_close(y, theirs(source, rotary, x)[0])


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("scaling", ["default", "yarn as in V3"])
def test_token_by_token_it_keeps_what_theirs_keeps(kind, scaling):
    given = {"rope_theta": 100.0, **STRETCHES[scaling]}
    source, rotary = deepseek(kind, rope_parameters=given)
    ours, x, kept = convert.from_deepseek(source), rand(1, 12, 12), DynamicCache()
    expected, _ = theirs(source, rotary, x, cache=kept)
    absorbed = AbsorbedLatentAttention(ours)
    with kv_cache(absorbed) as cache:
        y = [absorbed(part, mask=masks.causal) for part in x.split(1, dim=1)]
    assert_close(torch.cat(y, dim=1), expected)
    assert_close(cache.wires["latent"], kept.layers[0].keys[:, 0])
    turned = kept.layers[0].values[:, 0]
    if kind == "V3":  # theirs lays the pairs apart
        turned = reordered(turned, HALVES, INTERLEAVED)
    assert_close(cache.wires["k_rope"], turned)


def test_both_eps_dropout_scale_and_mode_come_along():
    source, rotary = deepseek("V3", attention_dropout=0.25)
    source.kv_a_layernorm.variance_epsilon, source.q_a_layernorm.variance_epsilon = 0.5, 0.2
    source.scaling = 0.9
    ours, x = convert.from_deepseek(source), rand(2, 5, 12)
    assert (ours.project.norm.eps, ours.project.W_Q.norm.eps) == (0.5, 0.2)
    assert (ours.attend.dropout.p, ours.attend.scale, ours.training) == (0.25, 0.9, False)
    assert_close(ours(x, mask=masks.causal), theirs(source, rotary, x)[0])
    assert convert.from_deepseek(source.train()).training


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_frozen_stays_frozen_and_what_learns_learns(recorded):
    source, _ = deepseek("V2", attention_bias=True)
    with torch.set_grad_enabled(recorded):
        assert all(p.requires_grad for p in convert.from_deepseek(source).parameters())
        source.requires_grad_(False)
        source.kv_b_proj.requires_grad_(True)
        ours = convert.from_deepseek(source)
    learns = [name for name, p in ours.named_parameters() if p.requires_grad]
    assert learns == ["split.W_UK.weight", "split.W_UV.weight"]


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("key", ["type", "rope_type"])
@pytest.mark.parametrize("scaling", ["linear", "yarn as in V3"])
def test_both_names_of_a_stretch_are_read(kind, key, scaling):
    given = {"rope_theta": 100.0, **STRETCHES[scaling]}
    source, rotary = deepseek(kind, rope_parameters=dict(given))
    x = rand(2, 12, 12)
    expected, _ = theirs(source, rotary, x)
    given[key] = given.pop("rope_type")
    source.config.rope_parameters = dict(given)
    ours = convert.from_deepseek(source, verify=False)  # the library itself reads it no more
    assert_close(ours(x, mask=masks.causal), expected)


@pytest.mark.bothways
@pytest.mark.parametrize("kind", PARTS)
def test_what_is_not_converted_is_refused(kind):
    words = "Linear has no conversion by convert.from_deepseek; only DeepseekV2Attention or"
    with pytest.raises(TypeError, match=words):
        convert.from_deepseek(nn.Linear(12, 12))
    for name in ("q_b_proj", "kv_b_proj"):
        source, _ = deepseek(kind)
        linear = getattr(source, name)
        linear.bias = nn.Parameter(rand(linear.out_features))
        with pytest.raises(ValueError, match=f"{name}.bias has no place in what Deepseek"):
            convert.from_deepseek(source)
    source, _ = deepseek(kind)
    source.kv_b_proj.register_forward_hook(lambda *args: None)
    with pytest.raises(
        ValueError, match=r"kv_b_proj has a hook, .*<lambda>, which has no conv"
    ):
        convert.from_deepseek(source)
    source, _ = deepseek(kind)
    source.kv_a_layernorm = nn.RMSNorm(6).double()
    with pytest.raises(
        ValueError, match=r"'RMSNorm' object has no attribute .*has no conversion"
    ):
        convert.from_deepseek(source)
    source, _ = deepseek(kind)
    inject_adapter_in_model(LoraConfig(r=2, target_modules=["q_a_proj"]), source)
    with pytest.raises(
        ValueError, match=r"q_a_proj\.weight but .*has no conversion .*merge_and_unload"
    ):
        convert.from_deepseek(source)


def test_a_class_of_the_same_name_from_elsewhere_is_refused():
    """Checkpoints bring code of their own along, with these names and other functions."""
    foreign = type("DeepseekV3Attention", (nn.Module,), {"forward": lambda self, x: x})()
    with pytest.raises(TypeError, match=r"DeepseekV3Attention .*has no conversion by convert"):
        convert.from_deepseek(foreign)


@pytest.mark.parametrize("kind", PARTS)
def test_a_way_to_attend_of_ones_own_is_refused(kind):
    module, _ = deepseek(kind)
    module.config._attn_implementation = "mine"
    with pytest.raises(ValueError, match="_attn_implementation='mine' is not an attention of"):
        convert.from_deepseek(module)
