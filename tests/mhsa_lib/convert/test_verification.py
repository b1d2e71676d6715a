"""Source and result are compared: what a comparison finds, and what it leaves as it was."""

import functools

import pytest
import torch
import transformers
from torch import nn
from transformers.models.bert.modeling_bert import BertSelfAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.llama.modeling_llama import LlamaAttention

from mhsa_lib import convert
from mhsa_lib.convert import bert as of_bert
from mhsa_lib.convert import deepseek as of_deepseek
from mhsa_lib.convert import gpt2 as of_gpt2
from mhsa_lib.convert import llama as of_llama
from mhsa_lib.convert import pytorch as of_torch
from mhsa_lib.rope.rotary import INTERLEAVED, Rotary
from mhsa_lib.tracing.hooks import watching
from tests.mhsa_lib.convert.llama.layers import source as llama
from tests.mhsa_lib.convert.sources import bert, gpt2, torchs
from tests.mhsa_lib.convert.test_deepseek import deepseek

FAMILIES = {
    "from_torch": (of_torch, lambda: torchs(4, 3)),
    "from_bert": (of_bert, lambda: bert(4, 3)),
    "from_gpt2": (of_gpt2, lambda: gpt2(4, 3)),
    "from_llama": (of_llama, lambda: llama("llama", attention_bias=True)),
    "from_deepseek": (of_deepseek, lambda: deepseek("V3", attention_bias=True)[0]),
}


def halved(function):
    """A decorator as people write it: the result carries the name of what it replaces."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        y, *rest = function(*args, **kwargs)
        return (y / 2, *rest)

    return wrapped


# --- what is patched under the old name ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("from_torch", nn.MultiheadAttention),
        ("from_bert", BertSelfAttention),
        ("from_gpt2", GPT2Attention),
        ("from_llama", LlamaAttention),
    ],
)
def test_a_forward_that_was_wrapped_is_found(name, cls, monkeypatch):
    source = FAMILIES[name][1]()
    getattr(convert, name)(source)
    monkeypatch.setattr(cls, "forward", halved(cls.forward))
    with pytest.raises(ValueError, match="and its conversion differ by"):
        getattr(convert, name)(source)


def test_a_registered_attention_function_that_was_wrapped_is_found(monkeypatch):
    source = llama("llama")
    source.config._attn_implementation = "sdpa"
    registered = transformers.AttentionInterface._global_mapping
    convert.from_llama(source)
    monkeypatch.setitem(registered, "sdpa", halved(registered["sdpa"]))
    with pytest.raises(ValueError, match=r"its conversion differ by .*\. Restore what was"):
        convert.from_llama(source)


def test_a_function_replaced_in_its_module_is_found(monkeypatch):
    source = llama("llama")
    home = "transformers.models.llama.modeling_llama.apply_rotary_pos_emb"
    monkeypatch.setattr(home, lambda q, k, *args, **kwargs: (q, k))
    with pytest.raises(ValueError, match="LlamaAttention and its conversion differ by"):
        convert.from_llama(source)


def test_what_is_done_in_training_only_is_found(monkeypatch):
    source, forward = llama("llama"), LlamaAttention.forward

    @functools.wraps(forward)
    def noisy(self, x, *args, **kwargs):
        return forward(self, x + self.training, *args, **kwargs)

    monkeypatch.setattr(LlamaAttention, "forward", noisy)
    with pytest.raises(ValueError, match="in training mode with dropout off"):
        convert.from_llama(source)


def test_without_verification_the_caller_compares():
    source = llama("llama")
    home = convert.from_llama(source, verify=False)
    for name, p in home.named_parameters():
        assert torch.equal(p, dict(convert.from_llama(source).named_parameters())[name])


# --- what a conversion could get wrong -------------------------------------------------------


def scale(ours):
    ours.attend.scale *= 1.01


def no_bias(ours):
    ours.project.W_Q.bias = None


def no_output_bias(ours):
    ours.W_O.bias = None


def heads(ours):
    ours.n_heads = ours.split.n_heads = ours.n_heads // 2
    ours.d_head *= 2


def other_order(ours):
    """Heads of keys as k1 k2 k1 k2 and not k1 k1 k2 k2."""
    weight = ours.project.W_Q.weight
    weight.data = weight.data.unflatten(0, (2, 2, -1)).transpose(0, 1).flatten(0, 2)


def pairing(ours):
    ours.split.rotary.pairing = INTERLEAVED


def base(ours):
    old = ours.split.rotary
    ours.split.rotary = Rotary(old.d_rotary, old.base * 1.02, old.pairing, old.scaling)


def no_norm(ours):
    ours.split.q_norm = nn.Identity()


def no_wide_norm(ours):
    ours.project.k_norm = nn.Identity()


def eps(ours):
    ours.split.k_norm.eps = 0.1


def cap(ours):
    ours.attend.cap *= 1.5


def no_sinks(ours):
    ours.attend.sinks.data.fill_(float("-inf"))


MISTAKES = [
    *((name, None, heads) for name in ("from_torch", "from_bert", "from_gpt2")),
    *((name, None, way) for name in FAMILIES for way in (no_output_bias, scale)),
    *((name, None, no_bias) for name in ("from_torch", "from_bert", "from_gpt2", "from_llama")),
    *(("from_llama", "llama", way) for way in (pairing, base, other_order)),
    *(("from_llama", "gemma", way) for way in (pairing, base, other_order)),
    ("from_llama", "qwen3", no_norm),
    ("from_llama", "qwen3", eps),
    ("from_llama", "gemma3", no_norm),
    ("from_llama", "olmo2", no_wide_norm),
    ("from_llama", "gemma2", cap),
    ("from_llama", "gpt_oss", no_sinks),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "kind", "mistake"), MISTAKES)
def test_a_mistake_of_the_conversion_is_found(name, kind, mistake, dtype, monkeypatch):
    family, make = FAMILIES[name]
    source = (llama(kind) if kind else make()).to(dtype)
    build = family._build

    def wrong(given):
        ours = build(given)
        mistake(ours)
        return ours

    getattr(convert, name)(source)
    monkeypatch.setattr(family, "_build", wrong)
    with pytest.raises(ValueError, match=r"and its conversion (differ by|with)|could not be"):
        getattr(convert, name)(source)


def test_small_weights_hide_no_mistake(monkeypatch):
    """With fresh weights scores are near 0, where a scale would hardly matter."""
    source = llama("llama", torch.float32)
    for parameter in source.parameters():
        nn.init.normal_(parameter, std=0.002)
    build = of_llama._build

    def wrong(given):
        ours = build(given)
        scale(ours)
        return ours

    monkeypatch.setattr(of_llama, "_build", wrong)
    with pytest.raises(ValueError, match="differ by"):
        convert.from_llama(source)


# --- what stays as it was --------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("training", [False, True])
def test_nothing_of_the_source_or_of_the_process_changes(name, training):
    source = FAMILIES[name][1]().train(training)
    leaves = [m for m in source.modules() if not [*m.children()]]
    next(m for m in leaves if not isinstance(m, nn.Dropout)).train(not training)
    for parameter in source.parameters():
        parameter.grad = torch.ones_like(parameter)
    modes = [m.training for m in source.modules()]
    before = {key: value.clone() for key, value in source.state_dict().items()}
    rates = [m.p for m in source.modules() if isinstance(m, nn.Dropout)]
    state, calls = torch.get_rng_state(), []
    handle = source.register_forward_hook(watching(lambda *args: calls.append(args)))
    ours = getattr(convert, name)(source)
    handle.remove()
    assert torch.equal(torch.get_rng_state(), state)
    assert not calls
    assert [m.training for m in source.modules()] == modes
    assert ours.training is training
    assert all(m.training is training for m in ours.modules())
    assert [m.p for m in source.modules() if isinstance(m, nn.Dropout)] == rates
    assert all(torch.equal(p.grad, torch.ones_like(p)) for p in source.parameters())
    assert all(p.grad is None for p in ours.parameters())
    assert all(torch.equal(source.state_dict()[key], value) for key, value in before.items())


def test_weights_on_meta_cannot_be_compared():
    with torch.device("meta"):
        source = nn.MultiheadAttention(12, 3)
    with pytest.raises(ValueError, match=r"could not be compared .* meta tensor"):
        convert.from_torch(source)
    assert convert.from_torch(source, verify=False).W_O.weight.is_meta


def test_weights_that_are_no_plain_floats_are_refused():
    source = torchs(3, 4, torch.float32).to(torch.float8_e4m3fn)
    with pytest.raises(ValueError, match=r"Parameter of torch.float8_e4m3fn as in_proj_\w+, "):
        convert.from_torch(source)


def test_autocast_and_coarse_products_of_the_process_do_not_matter():
    before = torch.get_float32_matmul_precision()
    source = llama("llama", torch.float32)
    try:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", torch.bfloat16):
            convert.from_llama(source)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("name", ["flash_attention_2", "flex_attention"])
def test_a_source_for_kernels_of_a_gpu_is_refused(name):
    source = llama("llama", torch.bfloat16)
    source.config._attn_implementation = name
    words = f"_attn_implementation='{name}' is not an attention of PyTorch, .*; set config"
    with pytest.raises(ValueError, match=words):
        convert.from_llama(source)
