"""What a conversion accepts, and the words with which it refuses the rest."""

import re

import pytest
import torch
from torch import nn
from transformers import BertConfig, ImageGPTConfig
from transformers.models.bert.modeling_bert import BertAttention
from transformers.models.canine.configuration_canine import CanineConfig
from transformers.models.canine.modeling_canine import CanineAttention
from transformers.models.imagegpt.modeling_imagegpt import ImageGPTAttention

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, convert, edit, remember, trace
from mhsa_lib.convert.align import aligned
from mhsa_lib.convert.to_grouped import pooled
from mhsa_lib.convert.to_plain import unshared
from mhsa_lib.parallel.shard import not_sharded, shard_of
from mhsa_lib.stages import Project, Split
from mhsa_lib.variants import MixtureOfHeadAttention, OverlappedAttention
from tests.convert.foreign import random
from tests.helpers.drawn import mha, rand

fuse = FusedMultiHeadAttention.from_attention


def bert(**options) -> nn.Module:
    sizes = {"hidden_size": 12, "num_attention_heads": 3, "attn_implementation": "eager"}
    return random(BertAttention, [BertConfig(**sizes, **options)])


def image_gpt() -> nn.Module:
    return random(ImageGPTAttention, [ImageGPTConfig(n_embd=12, n_head=3)])


def refuses(call, words, error=ValueError):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_a_router_beside_the_stages_is_refused():
    words = "MixtureOfHeadAttention has no fused form; only MultiHeadAttention or Grouped"
    refuses(
        lambda: fuse(MixtureOfHeadAttention(12, 3, n_shared=1, n_active=1)), words, TypeError
    )


def test_a_subclass_that_only_makes_itself_otherwise_is_known():
    class Small(MultiHeadAttention):
        """Twelve columns."""

        def __init__(self):
            super().__init__(12, 3)

    source, x = Small().double(), rand(2, 5, 12)
    torch.testing.assert_close(fuse(source)(x), source(x))


def test_a_class_whose_forward_was_patched_is_refused(monkeypatch):
    def faster(self, x, context):
        return self.W_Q(x), self.W_K(x), self.W_V(x)

    monkeypatch.setattr(Project, "forward", faster)
    refuses(
        lambda: fuse(mha()),
        "project has the forward tests.accept.test_known.test_a_class_whose",
    )


def test_a_class_with_another_patched_method_is_refused(monkeypatch):
    source = image_gpt()
    monkeypatch.setattr(type(source), "_attn", lambda self, q, k, v, *args: (v, None))
    refuses(
        lambda: convert.from_gpt2(source),
        "ImageGPTAttention has the _attn tests.accept.test_known",
    )


def test_its_own_method_as_an_attribute_is_no_other():
    attention, x = mha(), rand(2, 5, 12)
    attention.forward = attention.forward  # what accelerate leaves behind
    torch.testing.assert_close(fuse(attention)(x), attention(x))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.project.register_forward_hook(print), "project has a hook, print, which"),
        (lambda m: setattr(m, "forward", print), "has a forward of its own, which has no"),
        (lambda m: setattr(m.attend, "scores", nn.Identity()), "attend.scores=Identity has no"),
        (
            lambda m: setattr(m, "router", nn.Linear(2, 2)),
            "router=Linear has no fused form; no",
        ),
        (
            lambda m: setattr(m.project, "W_V", nn.Linear(12, 8).double()),
            "project.W_V has shape",
        ),
        (
            lambda m: setattr(m.attend, "scale", torch.ones(())),
            "attend.scale is a Tensor, which",
        ),
        (
            lambda m: m.W_O.float(),
            "parameters are torch.float32 on cpu, torch.float64 on cpu; mo",
        ),
        (lambda m: m.attend.dropout.eval(), "attend.dropout is in another mode than the atten"),
        (
            lambda m: setattr(m.project, "W_K", m.project.W_Q),
            "project.W_K.weight is project.W_Q",
        ),
    ],
)
def test_what_was_added_or_replaced_is_refused(change, words):
    attention = mha(dropout=0.5).train()
    change(attention)
    refuses(lambda: fuse(attention), words)


@pytest.mark.nohook  # the shape hook puts functions of its own around ours
def test_stages_for_other_heads_are_refused():
    words = "split cuts 12 columns into n_heads=4, but the attention has n_heads=3 of d_head=4;"
    refuses(lambda: fuse(mha(split=Split(4))), words)


def test_what_only_watches_is_no_reason_to_refuse_and_is_not_copied():
    attention, x = mha(12, 4), rand(2, 5, 12)
    with trace(attention) as wires:
        for ours in (fuse(attention), pooled(attention, 4), aligned(attention, 2)):
            torch.testing.assert_close(ours(x), attention(x))
        part = shard_of(attention, 0, 1)
        attention(x)
        before = wires["y"]
        for ours in (part, aligned(attention, 2)):
            ours(2 * x)
    assert wires["y"] is before


def test_what_changes_or_remembers_is_refused():
    attention = mha()
    with edit(attention, "z", torch.zeros_like):
        refuses(lambda: fuse(attention), "attend has a hook, edit.<locals>.replace, which has")
    with remember(attention):
        refuses(lambda: fuse(attention), "has a hook, ")


# --- packed, frozen, without a bias -----------------------------------------------------------


def test_what_is_frozen_in_part_cannot_be_packed():
    attention = mha()
    attention.project.W_Q.requires_grad_(False)
    words = "W_K.weight learns and W_Q.weight is frozen, which cannot be in one W_QKV: let all"
    refuses(lambda: fuse(attention), words)
    assert not any(p.requires_grad for p in fuse(attention.requires_grad_(False)).parameters())


def test_a_missing_key_bias_does_nothing_so_it_may_be_packed():
    attention, x = mha(bias=True), rand(2, 5, 12)
    attention.project.W_K.bias = None
    fused = fuse(attention)
    torch.testing.assert_close(fused(x), attention(x))
    fused(x).square().sum().backward()
    of_keys = fused.W_QKV.bias.grad.chunk(3)[1]
    assert of_keys.abs().max() < 1e-12


@pytest.mark.parametrize("name", ["W_Q", "W_V"])
def test_a_missing_bias_that_would_learn_is_refused(name):
    attention, x = mha(bias=True), rand(2, 5, 12)
    getattr(attention.project, name).bias = None
    refuses(lambda: fuse(attention), f"learns and {name}.bias is None, which cannot be in one")
    torch.testing.assert_close(fuse(attention.requires_grad_(False))(x), attention(x))


def test_a_context_of_another_width_has_no_latent():
    words = "d_context=5 differs from d_model=12, which has no conversion to a latent: pass an"
    refuses(lambda: convert.mha_to_latent(mha(d_context=5), 4), words)


def test_a_missing_bias_of_bert_stays_missing():
    source = bert()
    source.self.value.bias = None
    ours, x = convert.from_bert(source), torch.randn(2, 5, 12)
    assert ours.project.W_V.bias is None
    torch.testing.assert_close(ours(x), source.output.dense(source.self(x)[0]))


def test_the_scale_of_bert_is_that_of_the_source():
    source, x = bert(), torch.randn(2, 5, 12)
    source.self.scaling = 0.1
    ours = convert.from_bert(source)
    torch.testing.assert_close(ours(x), source.output.dense(source.self(x)[0]))


def test_a_cross_attention_of_bert_reads_the_context():
    config = BertConfig(hidden_size=12, num_attention_heads=3, attn_implementation="eager")
    source = BertAttention(config, is_cross_attention=True).eval()
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    expected = source.output.dense(source.self(x, context)[0])
    torch.testing.assert_close(convert.from_bert(source)(x, context), expected)


def test_bert_with_positions_in_the_scores_is_refused():
    source = bert()
    source.self.position_embedding_type = "relative_key"  # as transformers 4 has it
    source.self.distance_embedding = nn.Embedding(4, 4)
    refuses(
        lambda: convert.from_bert(source), "position_embedding_type='relative_key' adds pos"
    )


def test_local_chunks_of_canine_are_refused():
    config = CanineConfig(hidden_size=12, num_attention_heads=3)
    source = CanineAttention(config, local=True)
    refuses(lambda: convert.from_bert(source), "local=True lets a token look at its chunk only")


def test_a_way_to_attend_that_somebody_registered_is_refused():
    source = bert()
    source.self.config._attn_implementation = "mine"
    refuses(lambda: convert.from_bert(source), "_attn_implementation='mine' is not a way to")


def test_a_parameter_that_stands_twice_in_the_source_itself_is_named():
    source = nn.MultiheadAttention(12, 3, kdim=8, vdim=8)
    source.v_proj_weight = source.k_proj_weight
    refuses(lambda: convert.from_torch(source), "with copy.deepcopy(v_proj_weight)")


def test_norms_around_bert_may_be_in_another_precision():
    source, x = bert().to(torch.float64), rand(2, 5, 12)
    source.output.LayerNorm.float()
    expected = source.output.dense(source.self(x)[0])
    torch.testing.assert_close(convert.from_bert(source)(x), expected)


@pytest.mark.parametrize("bias", [True, False])
def test_torch_reads_a_context_of_another_width(bias):
    source = nn.MultiheadAttention(12, 3, kdim=5, vdim=5, bias=bias, batch_first=True)
    x, context = torch.randn(2, 4, 12), torch.randn(2, 7, 5)
    ours = convert.from_torch(source)
    assert ours.d_context == 5
    torch.testing.assert_close(ours(x, context), source(x, context, context)[0])


def test_a_quantizable_attention_of_torch_is_refused():
    words = "MultiheadAttention of torch.ao.nn.quantizable.modules.activation is not converted"
    refuses(
        lambda: convert.from_torch(torch.ao.nn.quantizable.MultiheadAttention(12, 3)),
        words,
        TypeError,
    )


# --- unshared ---------------------------------------------------------------------------------


def test_unshared_keeps_dropout_mode_and_every_bias():
    layer = OverlappedAttention(12, 3, 1, dropout=0.25, W_O=nn.Linear(18, 12)).double().eval()
    plain, x = unshared(layer), rand(2, 5, 12)
    torch.testing.assert_close(plain(x), layer(x))
    assert (plain.attend.dropout.p, plain.training) == (0.25, False)
    assert unshared(layer.train()).training


def test_unshared_refuses_a_stage_for_other_heads():
    layer = OverlappedAttention(12, 3, 1)
    layer.overlap = 2
    words = (
        "split makes n_heads=3 with overlap=1, but the attention has n_heads=3 with overlap=2"
    )
    refuses(lambda: unshared(layer), words)


def test_a_fused_attention_with_a_hook_has_no_five_stages():
    fused = FusedMultiHeadAttention(12, 3)
    fused.W_O.register_forward_hook(lambda module, args, y: 0 * y)
    refuses(fused.to_attention, "W_O has a hook, ")


def test_a_shard_is_not_shared_again():
    part = shard_of(FusedMultiHeadAttention(12, 4), 0, 2)
    part.of_ranks = 2
    refuses(lambda: not_sharded(part), "FusedMultiHeadAttention is a shard, one of 2; pass an")
