"""Switching one head off moves the sentence as far as it says."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.roles import effect
from mhsa_book.transformer import EncoderLayer, FeedForward
from mhsa_lib import MultiHeadAttention, edit
from tests.mhsa_book.roles.sentences import SENTENCES


@pytest.fixture
def layers():
    return [EncoderLayer(MultiHeadAttention(12, 3), FeedForward(12, 24)) for _ in range(4)]


@pytest.fixture
def inputs():
    return [torch.randn(n, 12) for n in (5, 3, 7)]


def through(layers, x):
    for layer in layers:
        x = layer(x)
    return x


@torch.no_grad()
def by_hand(layers, x, instead):
    """One head at a time, one pass each."""
    whole = through(layers, x).mean(dim=0)
    table = torch.zeros(len(layers), 3)
    for i, layer in enumerate(layers):
        for head in range(3):

            def replaced(z, i=i, head=head):
                z = z.clone()
                z[head] = instead[i, head]
                return z

            with edit(layer, "z", replaced):
                other = through(layers, x).mean(dim=0)
            table[i, head] = 1 - torch.cosine_similarity(whole, other, dim=0)
    return table.double()


@pytest.mark.parametrize("way", effect.WAYS)
def test_all_heads_at_once_are_one_head_at_a_time(way, layers, inputs):
    found = effect.effects(layers, inputs)[way]
    assert found.shape == (3, 4, 3)
    with torch.no_grad():
        seen = [effect.outputs(layers, x) for x in inputs]
    for i, x in enumerate(inputs):
        expected = by_hand(layers, x, effect.WAYS[way](seen, i))
        assert_close(found[i], expected, atol=1e-6, rtol=1e-4)


def test_a_head_that_writes_nothing_moves_nothing(layers, inputs):
    layers[2].self_attention.W_O.weight.data[:, 4:8] = 0  # head 1
    found = effect.effects(layers, inputs)
    for moved in found.values():
        assert moved[:, 2, 1].abs().max() < 1e-9
        assert moved[:, 2, [0, 2]].min() > 1e-6


def test_what_stands_there_comes_from_the_other_sentences_only():
    seen = [torch.full((1, 2, n, 4), float(n)) for n in (5, 3, 7)]
    assert not effect.by_zero(seen, 0).any()
    assert torch.equal(effect.by_mean(seen, 0), torch.full((1, 2, 5, 4), (9 + 49) / 10))
    assert set(effect.by_resampling(seen, 0).unique().tolist()) <= {3.0, 7.0}
    for way in effect.WAYS.values():
        assert way(seen, 1).shape == seen[1].shape


def test_a_resampled_token_is_that_of_one_other_token_in_all_heads():
    seen = [torch.randn(2, 3, n, 4) for n in (6, 5)]
    found = effect.by_resampling(seen, 0)
    for token in range(6):
        same = [torch.equal(found[:, :, token], other) for other in seen[1].unbind(dim=-2)]
        assert sum(same) == 1
    assert torch.equal(effect.by_resampling(seen, 0), found)
    assert not torch.equal(effect.by_resampling(seen[::-1], 1)[..., :3, :], found[..., :3, :])


def test_a_later_layer_is_left_as_it_was(layers, inputs):
    before = through(layers, inputs[0])
    effect.effects(layers, inputs)
    assert torch.equal(through(layers, inputs[0]), before)


def test_the_real_models_last_layer_moves_the_sentence_most(model):
    layers = [model.layer(i) for i in range(6)]
    inputs = [model.vectors(sentence.text)[1][0] for sentence in SENTENCES[2:4]]
    found = effect.effects(layers, inputs, {"mean": effect.by_mean})
    by_layer = found["mean"].mean(dim=(0, 2))
    assert [*found] == ["mean"]
    assert by_layer[5] > 3 * by_layer[:5].max()


@pytest.mark.bothways
def test_what_does_not_fit_is_refused(layers, inputs):
    with pytest.raises(ValueError, match="1 sentences have no other ones to take a mean from"):
        effect.effects(layers, inputs[:1])
    with pytest.raises(
        ValueError, match=r"for 4 layers and 5 tokens, but there are 4 .* 3 tokens"
    ):
        effect.moved(layers, inputs[1], torch.zeros(4, 3, 5, 4))
    with pytest.raises(ValueError, match="holds no stages"):
        effect.effects([nn.Linear(12, 12)], inputs)
