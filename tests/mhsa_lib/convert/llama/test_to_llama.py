"""The way back into a layer of Llama or its kin: same numbers, or a refusal."""

import pytest
import torch
from torch import nn
from transformers.models.llama.modeling_llama import LlamaAttention

from mhsa_lib import FusedMultiHeadAttention, GroupedQueryAttention, convert, masks
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.llama_stages import SinkAttend
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED, Rotary, RotarySplit
from mhsa_lib.rope.scaling import LinearScaling
from mhsa_lib.variants.grouped import GroupedSplit
from tests.helpers.drawn import filled, rand
from tests.mhsa_lib.convert.llama.layers import each, source, theirs, width
from tests.mhsa_lib.convert.precision import close
from tests.mhsa_lib.convert.test_verification import halved


def emptied(kind, **options):
    """A layer of the same form with other numbers."""
    module = source(kind, **options)
    for parameter in module.parameters():
        parameter.data.fill_(0.5)
    return module


def edited(kind, **options):
    """Ours, with other weights than any source has."""
    ours = convert.from_llama(source(kind, **options))
    for parameter in ours.parameters():
        parameter.data.mul_(1.5)
    return ours


@each
@pytest.mark.parametrize("biased", [False, True])
def test_what_was_edited_goes_back(kind, biased):
    options = {"attention_bias": True} if biased else {}
    if biased and kind in ("mistral", "qwen2", "phi3"):
        pytest.skip("its configuration has no word for biases")
    ours, into = edited(kind, **options), emptied(kind, **options)
    assert convert.to_llama(ours, into) is into
    x = rand(2, 6, width(into))
    close(theirs(into, x)[0], ours(x, mask=masks.causal))


def test_dtype_and_mode_stay_and_what_is_frozen_comes_along():
    ours, into = edited("llama"), emptied("llama").bfloat16().train()
    ours.project.W_K.requires_grad_(False)
    into.q_proj.requires_grad_(False)
    parameters = dict(into.named_parameters())
    convert.to_llama(ours.eval(), into)
    assert into.training
    assert dict(into.named_parameters()) == parameters  # the same objects
    assert [n for n, p in parameters.items() if not p.requires_grad] == ["k_proj.weight"]
    assert torch.equal(into.q_proj.weight, ours.project.W_Q.weight.bfloat16())


def test_pruned_heads_go_into_a_layer_that_has_so_many():
    ours = prune_heads(edited("llama"), [2, 3])
    into = emptied("llama", n_heads=2, n_kv_heads=1, hidden_size=12)
    convert.to_llama(ours, into)
    x = rand(2, 6, 12)
    close(theirs(into, x)[0], ours(x, mask=masks.causal))


def test_an_attention_of_ones_own_goes_too():
    split = RotarySplit(4, Rotary(6, 100.0, HALVES))
    ours = filled(GroupedQueryAttention(12, 4, 4, d_head=6, split=split).double())
    into = convert.to_llama(ours, emptied("llama", n_kv_heads=4))
    x = rand(2, 6, 12)
    close(theirs(into, x)[0], ours(x, mask=masks.causal))


def positions(*args, **options):
    return lambda ours: setattr(ours.split, "rotary", Rotary(*args, **options))


def biased(ours):
    ours.W_O.bias = nn.Parameter(rand(12))


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("llama", lambda o: setattr(o.attend, "scale", 0.4), r"attend.scale is 0.4, but 0.408"),
        (
            "llama",
            lambda o: setattr(o.attend.dropout, "p", 0.1),
            r"attend.dropout.p is 0.1, but 0.0 in LlamaAttention; make one from a config",
        ),
        ("llama", positions(6, 99.0, HALVES), "split.rotary.base is 99.0, but 100.0"),
        ("llama", positions(6, 100.0, INTERLEAVED), "split.rotary.pairing is .*interleaved"),
        (
            "llama",
            positions(6, 100.0, HALVES, scaling=LinearScaling(2.0)),
            r"split.rotary.scaling is LinearScaling\(factor=2.0\), but None",
        ),
        (
            "llama",
            lambda o: setattr(o, "attend", SinkAttend(o.attend.scale, 4)),
            "attend=SinkAttend has no place in LlamaAttention; only GroupedAttend is",
        ),
        (
            "gpt_oss",
            lambda o: setattr(o.attend, "sinks", None),
            r"attend.sinks is None, but \(4,\) in GptOssAttention",
        ),
        (
            "llama",
            lambda o: setattr(o, "split", GroupedSplit(4, 2)),
            "split=GroupedSplit has no place in LlamaAttention; only RotarySplit is known",
        ),
        ("llama", biased, r"W_O.bias is \(12,\), but None in LlamaAttention"),
        (
            "qwen3",
            lambda o: setattr(o.split.q_norm, "eps", 0.1),
            "split.q_norm.eps is 0.1, but 1e-06 in Qwen3Attention",
        ),
        ("qwen3", lambda o: setattr(o.split, "k_norm", nn.Identity()), "k_norm=Identity has"),
        ("gemma2", lambda o: setattr(o.attend, "cap", 3.0), "attend.cap is 3.0, but 0.5"),
        ("llama", lambda o: o.W_O.register_forward_hook(print), "W_O has a hook, print, which"),
    ],
)
def test_what_it_cannot_express_is_refused_and_nothing_is_copied(kind, change, words):
    ours, into = edited(kind), emptied(kind)
    change(ours)
    before = {name: value.clone() for name, value in into.state_dict().items()}
    with pytest.raises(ValueError, match=words):
        convert.to_llama(ours, into)
    assert all(torch.equal(into.state_dict()[name], value) for name, value in before.items())


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_heads": 2, "n_kv_heads": 1, "hidden_size": 12}, "n_heads is 4, but 2 in Llama"),
        ({"n_kv_heads": 4}, "n_kv_heads is 2, but 4 in LlamaAttention"),
        ({"d_head": 4, "hidden_size": 12}, "d_head is 6, but 4 in LlamaAttention"),
        ({"hidden_size": 16}, "d_model is 12, but 16 in LlamaAttention"),
    ],
)
def test_other_sizes_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        convert.to_llama(edited("llama"), emptied("llama", **options))


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
def test_other_classes_are_refused():
    with pytest.raises(TypeError, match=r"Linear has no conversion by convert\.from_llama"):
        convert.to_llama(edited("llama"), nn.Linear(12, 12))
    with pytest.raises(TypeError, match="FusedMultiHeadAttention has no place in Llama"):
        convert.to_llama(FusedMultiHeadAttention(12, 3), emptied("llama"))


def test_what_computes_otherwise_there_is_found_before_anything_is_copied(monkeypatch):
    ours, into = edited("llama"), emptied("llama")
    monkeypatch.setattr(LlamaAttention, "forward", halved(LlamaAttention.forward))
    with pytest.raises(ValueError, match="LlamaAttention and its conversion differ by"):
        convert.to_llama(ours, into)
    assert all((p == 0.5).all() for p in into.parameters())
    convert.to_llama(ours, into, verify=False)
    assert torch.equal(into.q_proj.weight, ours.project.W_Q.weight)
