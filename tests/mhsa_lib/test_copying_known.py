"""Which classes, patched or not, and which sizes a conversion knows."""

import pytest
import torch
from torch import nn
from transformers import ImageGPTConfig
from transformers.models.imagegpt.modeling_imagegpt import ImageGPTAttention

from mhsa_book import conversions
from mhsa_book.conversions.to_plain import unshared
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, convert
from mhsa_lib.parallel.one_rank import divisible, shard_of
from mhsa_lib.stages import Project, Split
from mhsa_lib.variants import MixtureOfHeadAttention, OverlappedAttention
from tests.helpers.drawn import mha, rand
from tests.helpers.refusing import fuse, refuses
from tests.mhsa_lib.convert.foreign import random


def image_gpt() -> nn.Module:
    return random(ImageGPTAttention, [ImageGPTConfig(n_embd=12, n_head=3)])


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
        "project has a patched forward, which has no fused form: undo",
    )


def test_a_class_with_another_patched_method_is_refused(monkeypatch):
    source = image_gpt()
    monkeypatch.setattr(type(source), "_attn", lambda self, q, k, v, *args: (v, None))
    refuses(
        lambda: convert.from_gpt2(source),
        "ImageGPTAttention and its conversion differ by ",
    )


def test_its_own_method_as_an_attribute_is_no_other():
    attention, x = mha(), rand(2, 5, 12)
    attention.forward = attention.forward  # what accelerate leaves behind
    torch.testing.assert_close(fuse(attention)(x), attention(x))


@pytest.mark.nohook  # the shape hook puts functions of its own around ours
def test_stages_for_other_heads_are_refused():
    words = "split makes n_heads=4 of 12 features, but the attention has n_heads=3 of d_head=4;"
    refuses(lambda: fuse(mha(split=Split(4))), words)


def test_a_context_of_another_width_has_no_latent():
    words = "d_context=5 differs from d_model=12, which has no conversion to a latent: pass an"
    refuses(lambda: conversions.mha_to_latent(mha(d_context=5), 4), words)


def test_unshared_refuses_a_stage_for_other_heads():
    layer = OverlappedAttention(12, 3, 1)
    layer.overlap = 2
    words = (
        "split makes n_heads=3 with overlap=1, but the attention has n_heads=3 with overlap=2"
    )
    refuses(lambda: unshared(layer), words)


def test_a_shard_is_not_shared_again():
    part = shard_of(FusedMultiHeadAttention(12, 4), 0, 2)
    part.of_ranks = 2
    words = "FusedMultiHeadAttention is sharded among ranks already; pass one that is whole"
    refuses(lambda: divisible(part, 2), words)
