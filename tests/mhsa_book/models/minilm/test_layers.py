"""Its layers around our five stages, its vocabulary, and the same shape untrained."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import models
from mhsa_lib import edit, trace
from tests.mhsa_book.models.minilm.texts import TIRED


def test_our_layers_one_after_the_other_are_the_model(model):
    _, vectors = model.vectors(TIRED)
    x = vectors[0]
    with torch.no_grad():
        for layer in range(model.n_layers):
            x = model.layer(layer)(x)
            assert_close(x, vectors[layer + 1], atol=1e-4, rtol=1e-4)


def test_a_layer_takes_several_texts_of_one_length(model):
    _, vectors = model.vectors(TIRED)
    with torch.no_grad():
        both = model.layer(2)(torch.stack([vectors[2], vectors[0]]))
        assert_close(both[0], model.layer(2)(vectors[2]), atol=1e-5, rtol=1e-5)


def test_a_layer_can_be_watched_and_changed_and_the_model_stays(model):
    _, vectors = model.vectors(TIRED)
    layer = model.layer(3)
    with torch.no_grad(), trace(layer) as wires, edit(layer, "z", torch.zeros_like):
        without = layer(vectors[3])
    assert not wires["z"].any()
    assert (without - vectors[4]).norm() > 1
    assert torch.equal(model.vectors(TIRED)[1], vectors)


def test_ids_are_places_in_the_vocabulary(model):
    tokens, _ = model.attend("The cat sat.")
    assert model.ids(tokens) == [101, 1996, 4937, 2938, 1012, 102]
    with pytest.raises(ValueError, match="'Cat' is no token of all-MiniLM-L6-v2"):
        model.ids(["the", "Cat"])
    assert model.ids(["[UNK]"]) == [100]


def test_untrained_models_have_the_shape_and_the_tokens(model):
    untrained = models.untrained(3)
    tokens, weights = untrained.attend(TIRED)
    assert tokens == model.attend(TIRED)[0]
    assert weights.shape == (6, 12, len(tokens), len(tokens))
    assert repr(untrained) == "untrained, seed 3: 6 layers of 12 heads"
    assert weights.amax() < 0.5  # nothing has learned to decide


def test_a_seed_says_which_untrained_model_and_disturbs_no_other_numbers():
    torch.manual_seed(7)
    first = models.untrained(0).attend(TIRED)[1]
    drawn = torch.rand(3)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), drawn)
    assert torch.equal(models.untrained(0).attend(TIRED)[1], first)
    assert not torch.equal(models.untrained(1).attend(TIRED)[1], first)
