"""A real model: its sizes, its weights and vectors, and our attention in it."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import trace
from tests.mhsa_book.models.minilm.texts import TIRED


def test_it_has_six_layers_of_twelve_heads(model):
    assert (model.n_layers, model.n_heads, model.max_tokens) == (6, 12, 512)
    assert repr(model) == "all-MiniLM-L6-v2: 6 layers of 12 heads"


def test_text_in_tokens_and_weights_out(model):
    tokens, weights = model.attend("The cat sat.")
    assert tokens == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
    assert weights.shape == (6, 12, 6, 6)
    assert_close(weights.sum(dim=-1), torch.ones(6, 12, 6))
    assert not weights.requires_grad


def test_a_text_gives_the_same_numbers_twice(model):
    assert torch.equal(model.attend(TIRED)[1], model.attend(TIRED)[1])


@pytest.mark.parametrize("layer", range(6))
def test_our_attention_of_a_layer_reproduces_the_models_weights(model, layer):
    _, weights = model.attend(TIRED)
    _, vectors = model.vectors(TIRED)
    attention = model.attention(layer)
    with trace(attention) as wires, torch.no_grad():
        attention(vectors[layer])
    assert (wires["weights"] - weights[layer]).abs().max().item() <= 1e-5


def test_our_attention_and_the_rest_of_the_layer_give_the_next_vectors(model):
    _, vectors = model.vectors(TIRED)
    layer = model._bert.encoder.layer[2]
    with torch.no_grad():
        y = layer.attention.output.LayerNorm(model.attention(2)(vectors[2]) + vectors[2])
        after = layer.output(layer.intermediate(y), y)
    assert_close(after, vectors[3], atol=1e-5, rtol=1e-5)


def test_vectors_are_the_input_of_layer_0_and_every_output(model):
    tokens, vectors = model.vectors("The cat sat.")
    assert vectors.shape == (7, len(tokens), 384)


@pytest.mark.parametrize("layer", [-1, 6])
def test_a_layer_that_does_not_exist_is_refused(model, layer):
    with pytest.raises(ValueError, match=f"layer={layer} does not exist; .* has 0 to 5"):
        model.attention(layer)
