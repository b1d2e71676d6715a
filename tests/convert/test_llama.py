"""Llama and its kin in our five stages: the same numbers in one pass and token by token."""

import functools
import importlib
import types

import accelerate
import pytest
import torch
import transformers
from accelerate.hooks import remove_hook_from_module
from hypothesis import given
from hypothesis import strategies as st
from peft import LoraConfig, inject_adapter_in_model
from torch import nn
from torch.testing import assert_close
from transformers import DynamicCache, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.cohere.modeling_cohere import CohereAttention
from transformers.models.llama.modeling_llama import LlamaAttention

from mhsa_lib import FusedMultiHeadAttention, convert, masks, trace
from mhsa_lib.cache.remembering import remember
from mhsa_lib.convert.llama_stages import CappedAttend, GemmaNorm, NormedProject, SinkAttend
from mhsa_lib.convert.pairing import with_pairing
from mhsa_lib.costs import variant_costs
from mhsa_lib.rope.pairing import INTERLEAVED
from mhsa_lib.rope.rotary import PartialRotary, Rotary
from mhsa_lib.trace import hooks
from mhsa_lib.variants.grouped import GroupedSplit
from tests.convert.precision import close
from tests.convert.sources import randomized
from tests.helpers import theirs as their
from tests.helpers.drawn import rand

# folder, name of the classes, configuration
KINDS = {
    "llama": ("Llama", "LlamaConfig"),
    "mistral": ("Mistral", "MistralConfig"),
    "qwen2": ("Qwen2", "Qwen2Config"),
    "qwen3": ("Qwen3", "Qwen3Config"),
    "gemma": ("Gemma", "GemmaConfig"),
    "gemma2": ("Gemma2", "Gemma2Config"),
    "gemma3": ("Gemma3", "Gemma3TextConfig"),
    "phi3": ("Phi3", "Phi3Config"),
    "olmo2": ("Olmo2", "Olmo2Config"),
    "gpt_oss": ("GptOss", "GptOssConfig"),
}
NO_WIDTH = {"qwen2", "phi3", "olmo2"}  # their configurations have no width of a head
each = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
PLAIN = {"rope_type": "default", "rope_theta": 100.0}
TRAINED = 8
"""Tokens of a text in training; the tests go far beyond."""
STRETCHED = {
    "linear": {"factor": 4.0},
    "proportional": {"factor": 2.0, "partial_rotary_factor": 0.5},
    "dynamic": {"factor": 4.0},
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": TRAINED,
    },
    "yarn": {
        "factor": 4.0,
        "original_max_position_embeddings": TRAINED,
        "beta_fast": 1.5,
        "beta_slow": 0.2,
    },
    "longrope": {
        "factor": 4.0,
        "original_max_position_embeddings": TRAINED,
        "short_factor": [1.0, 1.1, 1.2],
        "long_factor": [1.0, 2.0, 5.0],
    },
}


def rope(name, **options):
    return {"rope_type": name, "rope_theta": 100.0, **STRETCHED.get(name, {}), **options}


def parts(kind):
    """Their attention, what makes its turns, and its configuration."""
    name, config = KINDS[kind]
    models = importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")
    attention = getattr(models, f"{name}Attention")
    return attention, getattr(models, f"{name}RotaryEmbedding"), getattr(transformers, config)


def source(kind, dtype=torch.float64, n_heads=4, n_kv_heads=2, d_head=6, index=0, **options):
    """Random weights; the shortest text in training for what depends on it."""
    attention, _, config = parts(kind)
    options = {"rope_parameters": dict(PLAIN), "max_position_embeddings": TRAINED} | options
    if kind == "gemma3" and "rope_type" in options["rope_parameters"]:
        near = {"rope_type": "default", "rope_theta": 20.0}
        far = options.pop("rope_parameters")
        options["rope_parameters"] = {"full_attention": far, "sliding_attention": near}
        options["layer_types"] = ["full_attention", "sliding_attention"]
    if kind in ("gemma2", "gemma3"):
        options = {"query_pre_attn_scalar": 9, "attn_logit_softcapping": 0.5} | options
    if kind == "phi3":
        options = {"original_max_position_embeddings": TRAINED} | options
    if kind not in NO_WIDTH:
        options["head_dim"] = d_head
    sizes = {"num_attention_heads": n_heads, "num_key_value_heads": n_kv_heads}
    hidden = n_heads * (d_head if kind in NO_WIDTH else 3)
    made = config(
        hidden_size=hidden, num_hidden_layers=2, attn_implementation="eager", **sizes, **options
    )
    return randomized(attention(made, layer_idx=index), dtype)


def theirs(module, x, *args, **options):
    embedding = parts(type(module).__module__.split(".")[-2])[1]
    return their.theirs(module, embedding, x, *args, **options)


def width(module):
    return module.o_proj.out_features


# --- the same numbers ------------------------------------------------------------------------


@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([(1, 1), (4, 1), (4, 2), (4, 4), (6, 3)]),
    st.sampled_from([2, 4, 6]),
    st.integers(1, 7),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_the_attention_gives_the_same_numbers(kind, heads, d_head, n, dtype):
    module = source(kind, dtype, *heads, d_head)
    ours, x = convert.from_llama(module), rand(2, n, width(module)).to(dtype)
    with trace(ours) as wires:
        y = ours(x, mask=masks.causal)
    expected, weights = theirs(module, x)
    close(y, expected)
    close(wires["weights"], weights)


@each
@both
def test_token_by_token_it_equals_the_cached_decoding_of_the_source(kind, dtype):
    module = source(kind, dtype)
    ours, x = convert.from_llama(module), rand(2, 7, width(module)).to(dtype)
    theirs_kept = DynamicCache()
    with remember(ours) as kept:
        for start, end in ((0, 4), (4, 5), (5, 7)):
            part = x[:, start:end]
            expected, _ = theirs(module, part, start=start, cache=theirs_kept)
            close(ours(part, mask=masks.causal), expected)
    layer = theirs_kept.layers[0]
    close(kept["k_rotated"], layer.keys)
    close(kept["v_heads"], layer.values)
    costs = variant_costs.grouped(width(module), 4, 2, n=1, d_head=6)
    assert kept.bytes == 2 * costs.cache_bytes(7, itemsize=dtype.itemsize)


@pytest.mark.parametrize(
    "kind", ["mistral", "qwen2", "qwen3", "gemma2", "gemma3", "gpt_oss", "phi3"]
)
def test_a_layer_with_a_window_needs_the_mask_of_that_window(kind):
    options = {"use_sliding_window": True, "max_window_layers": 0} if "qwen" in kind else {}
    index = 1 if kind == "gemma3" else 0
    module = source(kind, index=index, sliding_window=3, **options)
    of_config = kind in ("mistral", "phi3")
    window = module.config.sliding_window if of_config else module.sliding_window
    assert window == 3
    window, x = masks.sliding_window(window), rand(2, 6, width(module))
    close(convert.from_llama(module)(x, mask=window), theirs(module, x, window)[0])


@each
def test_every_bias_comes_along(kind):
    options = {} if kind in ("mistral", "qwen2", "phi3") else {"attention_bias": True}
    module, biased = source(kind, **options), 0
    for name in ("q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj"):
        linear = getattr(module, name, None)
        if linear is not None:  # where their configuration has no word for it too
            linear.bias = nn.Parameter(rand(linear.out_features))
            biased += 1
    assert biased >= 2
    ours, x = convert.from_llama(module), rand(2, 5, width(module))
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_a_map_without_the_bias_that_others_have_adds_nothing():
    module, x = source("llama", attention_bias=True), rand(2, 5, 12)
    module.q_proj.bias = None
    close(convert.from_llama(module)(x, mask=masks.causal), theirs(module, x)[0])


# --- what differs is a stage -----------------------------------------------------------------


def test_gemma_2_is_a_cap_on_the_scores():
    module, x = source("gemma2"), rand(2, 6, 12)
    ours = convert.from_llama(module)
    assert type(ours.attend) is CappedAttend
    assert (ours.attend.cap, ours.attend.scale) == (0.5, 1 / 3)
    ours.attend.cap = float("inf")
    assert (ours(x, mask=masks.causal) - theirs(module, x)[0]).abs().max() > 1e-2
    module.attn_logit_softcapping = None
    close(ours(x, mask=masks.causal), theirs(module, x)[0])
    assert type(convert.from_llama(module).attend) is not CappedAttend


@pytest.mark.parametrize(("index", "base"), [(0, 100.0), (1, 20.0)])
def test_gemma_3_turns_as_the_kind_of_its_layer_says(index, base):
    module, x = source("gemma3", index=index), rand(2, 6, 12)
    ours = convert.from_llama(module)
    assert ours.split.rotary.base == base
    assert type(ours.split.q_norm) is GemmaNorm
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_gemma_3_names_a_cap_and_does_not_use_it():
    module = source("gemma3")
    assert module.attn_logit_softcapping == 0.5
    assert not isinstance(convert.from_llama(module).attend, CappedAttend)


def test_small_gains_of_gemma_3_survive_half_precision():
    """1 + 0.001 is 1 in bfloat16."""
    module = source("gemma3").to(torch.bfloat16)
    with torch.no_grad():
        module.q_norm.weight.fill_(0.001)
    norm, heads = convert.from_llama(module).split.q_norm, rand(5, 6)
    assert norm.weight.dtype is torch.bfloat16
    one = nn.functional.rms_norm(heads, (6,), eps=norm.eps)
    assert_close(norm(heads) / one, torch.full_like(heads, 1.001), rtol=1e-4, atol=0)


@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("name", ["default", "longrope"])
def test_phi_3_may_turn_a_part_of_every_head(share, name):
    """0.7 of 6 columns are cut to 4."""
    pairs = {0.5: 1, 0.7: 2, 1.0: 3}[share]
    d_head = 4 if share == 0.5 else 6
    options = {"partial_rotary_factor": share}
    if name == "longrope":
        options |= {"short_factor": [1.0, 1.1, 1.2][:pairs]}
        options |= {"long_factor": [1.0, 2.0, 5.0][:pairs]}
    module = source("phi3", d_head=d_head, rope_parameters=rope(name, **options))
    ours, x = convert.from_llama(module), rand(2, 12, 4 * d_head)
    assert type(ours.split.rotary) is (PartialRotary if share < 1 else Rotary)
    assert ours.split.rotary.d_rotary == 2 * pairs
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_olmo_2_norms_all_heads_together():
    ours = convert.from_llama(source("olmo2"))
    assert type(ours.project) is NormedProject
    assert ours.project.q_norm.weight.shape == (24,)
    assert isinstance(ours.split.q_norm, nn.Identity)


def test_gpt_oss_leaves_a_part_of_every_row_to_its_sink():
    module, x = source("gpt_oss"), rand(2, 6, 12)
    ours = convert.from_llama(module)
    assert type(ours.attend) is SinkAttend
    with trace(ours) as wires:
        ours(x, mask=masks.causal)
    sums = wires["weights"].sum(dim=-1)
    assert (sums < 1).all()
    first = wires["scores"][:, :, 0, 0]  # the first token sees itself and the sink
    assert_close(sums[..., 0], torch.sigmoid(first - module.sinks))


@pytest.mark.bothways
@pytest.mark.parametrize(("kind", "part"), [("gemma2", "cap"), ("gpt_oss", "sinks")])
def test_a_layer_that_is_set_to_leave_out_what_differs_is_refused(kind, part):
    module = source(kind)
    left_out = ["sdpa"] if part == "cap" else ["sdpa", "flash_attention_2"]
    for name in left_out:
        module.config._attn_implementation = name
        words = rf"Attention is set to '{name}', which leaves out its {part}; "
        words += r"set config\._attn_impl"
        with pytest.raises(ValueError, match=words):
            convert.from_llama(module)
    module.config._attn_implementation = "eager"
    convert.from_llama(module)


@pytest.mark.parametrize("kind", ["gemma2", "olmo2", "gpt_oss", "qwen3", "phi3"])
def test_what_differs_has_no_fused_form(kind):
    stage = {"gemma2": "attend=CappedAttend", "gpt_oss": "attend=SinkAttend"}
    stage |= {"olmo2": "project=NormedProject"}
    ours = convert.from_llama(source(kind))
    words = f"{stage.get(kind, 'split=RotarySplit')} has no fused form"
    if kind in stage:  # the refusal of the positions would hide that of the stage
        ours.split = GroupedSplit(4, 2)
    with pytest.raises(ValueError, match=words):
        FusedMultiHeadAttention.from_attention(ours)


# --- frequencies of long texts ---------------------------------------------------------------

TAKEN = [
    (kind, name)
    for kind in KINDS
    for name in STRETCHED
    if kind != "phi3" or name == "longrope"  # its configuration takes no other
]


@pytest.mark.parametrize(("kind", "name"), TAKEN)
@pytest.mark.parametrize("n", [5, TRAINED, TRAINED + 1, 40])
@both
def test_a_stretched_layer_gives_the_same_numbers_at_every_length(kind, name, n, dtype):
    module = source(kind, dtype, rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, n, width(module)).to(dtype)
    expected, _ = theirs(module, x)
    close(ours(x, mask=masks.causal), expected)
    if n == 40:
        ours.split.rotary.stretch = None
        assert (ours(x, mask=masks.causal) - expected).abs().max() > 1e-3


@pytest.mark.parametrize(
    "options",
    [
        {"truncate": False},
        {"attention_factor": 0.7},
        {"mscale": 1.0, "mscale_all_dim": 0.5},
        {"mscale": 0.8},
        {"factor": None},
        {"beta_fast": None, "beta_slow": None},
        {"factor": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt_oss"])
def test_every_number_of_yarn_is_read(kind, options):
    """Gemma 3's truncate stands among its kinds of layers, where theirs does not look."""
    options = {"rope_parameters": rope("yarn", **options), "max_position_embeddings": 24}
    module = source(kind, **options, d_head=12)
    ours, x = convert.from_llama(module), rand(2, 20, 12)
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


@pytest.mark.parametrize("options", [{"attention_factor": 0.7}, {"factor": None}, {}], ids=str)
@pytest.mark.parametrize("kind", ["llama", "gemma3", "phi3"])
def test_every_number_of_longrope_is_read(kind, options):
    longer = {"max_position_embeddings": 24}
    module = source(kind, rope_parameters=rope("longrope", **options), **longer)
    ours, x = convert.from_llama(module), rand(2, 20, width(module))
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_the_stretched_frequencies_of_llama_3_are_those_of_the_other_library():
    config = LlamaConfig(
        hidden_size=4096,
        num_attention_heads=32,
        max_position_embeddings=131_072,
        rope_parameters=rope("llama3")
        | {"rope_theta": 500_000.0, "original_max_position_embeddings": 8192},
    )
    expected, scaling = ROPE_INIT_FUNCTIONS["llama3"](config)
    with torch.device("meta"):
        module = LlamaAttention(config, 0)
    rotary = convert.from_llama(module).split.rotary
    assert scaling == 1.0
    assert_close(rotary.frequencies(), expected, rtol=2e-6, atol=0)
    plain = 500_000.0 ** (-torch.arange(64) / 64)
    slower = plain / rotary.frequencies()
    assert (slower[:29] - 1).abs().max() < 1e-5  # turn often: kept
    assert (slower[35:] - 8).abs().max() < 1e-4  # turn less than once in 8192 tokens
    assert ((slower[29:35] > 1) & (slower[29:35] < 8)).all()


# --- decoding stretched texts ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "proportional", "llama3", "yarn"])
def test_any_cut_of_a_stretched_text_gives_the_numbers_of_one_pass(name):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, 20, 12)
    with remember(ours):
        found = [ours(part, mask=masks.causal) for part in x.split([3, 6, 1, 10], dim=1)]
    assert_close(torch.cat(found, dim=1), ours(x, mask=masks.causal))


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("dynamic", (3, 4, 1)),
        ("longrope", (3, 4, 1)),
        ("longrope", (TRAINED + 1, 1, 5)),
    ],
)
def test_a_text_whose_kept_keys_need_not_turn_again_can_grow(name, calls):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, sum(calls), 12)
    with remember(ours):
        found = [ours(part, mask=masks.causal) for part in x.split(calls, dim=1)]
    assert_close(torch.cat(found, dim=1), ours(x, mask=masks.causal))


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("longrope", (7, 2)),
        ("longrope", (TRAINED, 1)),
        ("dynamic", (9, 1)),
        ("dynamic", (8, 4)),
    ],
)
def test_a_text_whose_kept_keys_would_turn_again_is_refused(name, calls):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, sum(calls), 12)
    first, second = x.split(calls, dim=1)
    words = (
        rf"a text of {calls[0]} tokens goes on to {sum(calls)}, where \w+Stretch turns all of"
    )
    with remember(ours) as kept:
        ours(first, mask=masks.causal)
        with pytest.raises(ValueError, match=words):
            ours(second, mask=masks.causal)
        assert kept.n_tokens == calls[0]
        kept.forget()
        whole = ours(x, mask=masks.causal)
    assert_close(whole, ours(x, mask=masks.causal))


# --- what comes along ------------------------------------------------------------------------


@each
def test_mode_dropout_and_scale_come_along_and_weights_are_copied(kind):
    module = source(kind, attention_dropout=0.25)
    module.scaling = 0.3
    ours, x = convert.from_llama(module), rand(2, 5, width(module))
    assert (ours.attend.dropout.p, ours.attend.scale) == (0.25, 0.3)
    assert not ours.training
    assert convert.from_llama(module.train()).training
    before = ours(x)
    for parameter in module.parameters():
        parameter.data.zero_()
    assert torch.equal(ours(x), before)


@each
@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_frozen_stays_frozen_and_what_learns_learns(kind, recorded):
    module = source(kind).requires_grad_(False)
    with torch.set_grad_enabled(recorded):
        assert not any(p.requires_grad for p in convert.from_llama(module).parameters())
        module.requires_grad_(True)
        assert all(p.requires_grad for p in convert.from_llama(module).parameters())
        module.o_proj.requires_grad_(False)
        learns = {n: p.requires_grad for n, p in convert.from_llama(module).named_parameters()}
    assert {name for name, given in learns.items() if not given} == {
        name for name in learns if name.startswith("W_O.")
    }


def test_the_other_pairing_is_the_same_function():
    """Meta's files pair neighbouring columns, the published conversion reorders W_Q and W_K."""
    module = source("qwen3")
    ours, x = convert.from_llama(module), rand(2, 5, 12)
    close(with_pairing(ours, INTERLEAVED)(x, mask=masks.causal), theirs(module, x)[0])


@pytest.mark.parametrize("name", [None, *STRETCHED])
@pytest.mark.parametrize("key", ["type", "rope_type"])
def test_a_configuration_in_the_older_form_is_read(name, key):
    """Before transformers 5: rope_scaling, with rope_theta beside it."""

    class Old:
        rope_theta = 100
        rope_scaling = None
        max_position_embeddings = TRAINED

    given = rope(name or "default")
    module, x = source("llama", rope_parameters=dict(given)), rand(2, 20, 12)
    expected = convert.from_llama(module)(x)
    plain = convert.from_llama(source("llama")).split.rotary.frequencies()
    module.config = Old()
    if name is not None:
        module.config.rope_scaling = {key: name, **STRETCHED[name]}
    rotary = convert.from_llama(module).split.rotary
    if name == "longrope":  # there the numbers of texts in training stand beside it
        module.config.original_max_position_embeddings = TRAINED
        module.config.max_position_embeddings = 4 * TRAINED
    close(convert.from_llama(module)(x), expected)
    if name in ("linear", "proportional", "llama3", "yarn"):
        assert (rotary.frequencies() - plain).abs().max() > 0.01


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"rope_type": "axial"},
            "rotary positions of kind 'axial' are not converted; default, linear, "
            "proportional, dynamic, llama3, yarn, longrope are",
        ),
        (
            {"rope_type": "default", "partial_rotary_factor": 0.5},
            "partial_rotary_factor=0.5 turns only a part of every head, which this attention",
        ),
        (
            {"rope_type": "linear"},
            "rotary positions of kind 'linear' need 'factor', which the configuration lacks",
        ),
        ({"rope_theta": None}, "names no rope_theta for this layer; set rope_parameters"),
        (
            rope("longrope", long_factor=[1.0, 2.0]),
            "short has 3 divisors and long 2; give both one for every pair",
        ),
    ],
)
def test_other_positions_are_refused(given, words):
    module = source("llama")
    module.config.rope_parameters = {"rope_theta": 100.0} | given
    module.config.rope_theta = module.config.default_theta = None
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)


@pytest.mark.bothways
def test_the_wrong_module_is_refused_by_name():
    cohere = CohereAttention(
        transformers.CohereConfig(hidden_size=8, num_attention_heads=2, num_key_value_heads=2),
        0,
    )
    for module, name in ((nn.Linear(2, 2), "Linear"), (cohere, "CohereAttention")):
        words = (
            f"{name} has no conversion by convert.from_llama; only LlamaAttention or Mistral"
        )
        with pytest.raises(TypeError, match=words):
            convert.from_llama(module)


@pytest.mark.bothways
@each
def test_what_was_added_is_refused_by_name(kind):
    """A subclass with a forward, an adapter, a hook, another norm."""
    attention, _, _ = parts(kind)

    class Other(attention):
        def forward(self, *args, **options):
            return super().forward(*args, **options)

    module = source(kind)
    module.__class__ = Other
    with pytest.raises(
        TypeError, match=r"Other has no conversion by convert\.from_llama; only"
    ):
        convert.from_llama(module)
    packed = "qkv_proj" if kind == "phi3" else "q_proj"
    module = source(kind)
    inject_adapter_in_model(LoraConfig(r=2, target_modules=[packed]), module)
    words = rf"{packed}=Linear .*has no conversion .*; only Linear is known there: "
    words += r".*merge_and_unload"
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)
    module = source(kind)
    module.o_proj.register_forward_hook(lambda *args: None)
    with pytest.raises(ValueError, match=r"o_proj has a hook, .*<lambda>, which has no"):
        convert.from_llama(module)
    module = source(kind)
    module.register_forward_hook(hooks.watching(lambda *args: None))
    convert.from_llama(module)
    if hasattr(module, "q_norm"):
        module.q_norm = nn.LayerNorm(6)
        with pytest.raises(
            ValueError, match=r"q_norm=LayerNorm has no conversion .*; only \w+R"
        ):
            convert.from_llama(module)


def test_a_forward_grafted_from_a_class_of_the_same_name_is_refused(monkeypatch):
    """As one copies a class, edits it, and puts its forward where the old one was."""
    module, copied = source("llama"), types.ModuleType("edited")
    code = """class LlamaAttention:
    def forward(self, x, *args, **kwargs): return 2 * x, None"""
    exec(code, vars(copied))
    for forward in (copied.LlamaAttention.forward, functools.partialmethod(print, end="")):
        monkeypatch.setattr(type(module), "forward", forward)
        with pytest.raises(
            ValueError, match=r"LlamaAttention has the forward .*, which has no"
        ):
            convert.from_llama(module)


def test_a_mixin_behind_the_known_class_is_refused():
    class Twice(nn.Module):
        def __call__(self, *args, **kwargs):
            y, weights = super().__call__(*args, **kwargs)
            return 2 * y, weights

    module = source("llama")
    module.__class__ = type("Mine", (type(module), Twice), {})
    with pytest.raises(TypeError, match="Mine has no conversion"):
        convert.from_llama(module)


@pytest.mark.parametrize("name", ["mine", "sdpa"])
def test_a_way_to_attend_of_ones_own_is_refused_under_any_name(name, monkeypatch):
    module = source("llama")
    registered = transformers.AttentionInterface._global_mapping
    monkeypatch.setitem(registered, name, lambda *args, **kwargs: None)
    module.config._attn_implementation = name
    with pytest.raises(
        ValueError, match=f"_attn_implementation='{name}' is not a way to attend"
    ):
        convert.from_llama(module)


def test_what_accelerate_has_let_go_is_converted():
    module, x = source("llama"), rand(2, 5, 12)
    expected = convert.from_llama(module)(x)
    accelerate.cpu_offload(module, execution_device="cpu")
    with pytest.raises(
        ValueError, match=r"has a forward of its own, .*remove_hook_from_module"
    ):
        convert.from_llama(module)
    remove_hook_from_module(module, recurse=True)
    assert torch.equal(convert.from_llama(module)(x), expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning")
def test_a_refusal_says_what_to_do_with_a_class_and_with_compiled_code():
    with pytest.raises(
        TypeError, match=r"the class LlamaAttention has .*: pass an object of it"
    ):
        convert.from_llama(type(source("llama")))
    with pytest.raises(TypeError, match=r"OptimizedModule has .*, its \._orig_mod"):
        convert.from_llama(torch.compile(source("llama")))


def test_a_map_of_another_shape_is_named():
    module = source("llama")
    module.v_proj = nn.Linear(12, 18, bias=False).double()
    with pytest.raises(ValueError, match=r"W_V\.weight has shape \(18, 12\), not \(12, 12\)"):
        convert.from_llama(module)
