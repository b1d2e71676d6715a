"""Both ways write the same words with the same numbers; the memory is projected once."""

import copy

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.transformer import BOS, EOS, PAD, greedy, recomputing, remembering
from mhsa_lib import FusedMultiHeadAttention, GroupedQueryAttention, LatentAttention
from tests.mhsa_book.transformer.learned import SENTENCES, TRANSLATIONS, learned
from tests.mhsa_book.transformer.small import N_POSITIONS, N_TARGET, small, sources

KINDS = {
    "plain": {},
    "grouped": {"attention": lambda d_model, n: GroupedQueryAttention(d_model, n, 1)},
    "one layer": {"n_layers": 1},
}


def drawn(kind: str = "plain", seed: int = 0):
    torch.manual_seed(seed)
    return small(std=0.8, **KINDS[kind])


def test_both_ways_write_what_was_learned_with_the_same_numbers():
    model = learned()
    one, other = greedy(model, SENTENCES), greedy(model, SENTENCES, recomputing)
    assert torch.equal(one.ids, TRANSLATIONS)  # each ends where it ends, then there is padding
    assert torch.equal(one.ids, other.ids)
    assert_close(one.logits, other.logits, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_agree_where_nothing_was_learned(kind):
    for seed in range(4):
        model = drawn(kind, seed)
        one, other = greedy(model, sources()), greedy(model, sources(), recomputing)
        assert torch.equal(one.ids, other.ids)
        assert_close(one.logits, other.logits, rtol=0, atol=1e-10)


def test_a_sentence_is_translated_in_a_batch_as_alone():
    model = learned()
    for words, translation in zip(SENTENCES, TRANSLATIONS, strict=True):
        alone = greedy(model, words[words != PAD][None]).ids[0]
        assert alone.tolist() == translation[translation != PAD].tolist()


def test_decoding_stops_when_all_sentences_have_ended():
    found = greedy(learned(), SENTENCES[[1, 3]])
    assert found.ids.tolist() == [[7, EOS], [EOS, PAD]]
    assert found.logits.shape == (2, 2, N_TARGET)


def test_a_sentence_that_does_not_end_is_cut_where_positions_end():
    ids = greedy(drawn(), sources()).ids
    assert EOS not in ids
    assert ids.shape == (3, N_POSITIONS)


def test_every_word_is_the_likeliest_that_may_be_said():
    models = [drawn(seed=seed) for seed in range(6)]
    for model in models:
        model.unembed.weight.data[[PAD, BOS]] *= 3
    found = [greedy(model, sources()) for model in models]
    for ids, logits in found:
        words = logits[..., EOS:].argmax(dim=-1) + EOS
        ended = (ids == EOS).cumsum(dim=-1) - (ids == EOS).long() > 0
        assert torch.equal(ids, words.masked_fill(ended, PAD))
    likeliest = {
        sign for _, logits in found for sign in logits.argmax(dim=-1).unique().tolist()
    }
    assert {PAD, BOS} <= likeliest  # they would say them


class Projections:
    """How many tokens of the memory every call of W_K and of W_V reads, layer by layer."""

    def __init__(self, model) -> None:
        self.calls = [[] for _ in model.decoder]
        for calls, layer in zip(self.calls, model.decoder, strict=True):
            for W in (layer.cross_attention.project.W_K, layer.cross_attention.project.W_V):
                W.register_forward_hook(
                    lambda W, args, output, calls=calls: calls.append(args[0].shape[-2])
                )


def test_the_memory_is_projected_once_per_layer_and_not_once_per_word():
    model = drawn()
    counted = Projections(model)
    assert greedy(model, sources()).ids.shape[1] == N_POSITIONS
    for calls in counted.calls:
        assert [n for n in calls if n] == [5, 5]  # W_K and W_V, all five tokens, once

    counted = Projections(model)
    greedy(model, sources(), recomputing)
    assert counted.calls == [[5, 5] * N_POSITIONS] * 2


def test_a_word_is_read_once_by_the_self_attention():
    model, seen = drawn(), []
    model.decoder[0].self_attention.project.register_forward_hook(
        lambda module, args, output: seen.append(args[0].shape[-2])
    )
    greedy(model, sources())
    assert seen == [1] * N_POSITIONS
    seen.clear()
    greedy(model, sources(), recomputing)
    assert seen == list(range(1, N_POSITIONS + 1))


def test_a_fused_model_writes_the_same_words_by_recomputing():
    model = copy.deepcopy(learned())
    for layer in [*model.encoder, *model.decoder]:
        for name in ("self_attention", "cross_attention"):
            if hasattr(layer, name):
                fused = FusedMultiHeadAttention.from_attention(getattr(layer, name))
                setattr(layer, name, fused)
    assert torch.equal(greedy(model, SENTENCES, recomputing).ids, TRANSLATIONS)


def test_a_position_that_turns_keys_has_no_place_in_cross_attention():
    model = small(attention=lambda d_model, n: LatentAttention(d_model, n, 4, 2))
    with pytest.raises(
        TypeError, match="places queries behind the keys, but a context is next"
    ):
        greedy(model, sources())


def test_hooks_are_gone_after_the_block():
    model = drawn()
    with remembering(model, sources()) as next_word:
        next_word(torch.full((3, 1), BOS))
    assert [m for m in model.modules() if m._forward_hooks or m._forward_pre_hooks] == []
