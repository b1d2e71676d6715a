"""What is known to be in it: heads that look where they always look."""

import pytest
import torch

from mhsa_book import measure
from tests.mhsa_book.models.minilm.texts import TEXTS, TIRED


def _head(model, layer, head, offset):
    weights = [model.attend(text)[1][layer, head] for text in TEXTS]
    return torch.stack([measure.at_offset(w, offset) for w in weights])


def test_layer_0_head_2_looks_at_the_previous_token(model):
    assert (_head(model, 0, 2, -1) > 0.995).all()


def test_layer_1_head_8_leans_on_the_next_token(model):
    on_next = _head(model, 1, 8, 1)
    assert (on_next > 0.5).all()
    assert on_next.mean().item() == pytest.approx(0.65, abs=0.1)


@pytest.mark.parametrize(("layer", "head", "weight"), [(3, 1, 0.68), (5, 11, 0.67)])
def test_two_heads_send_it_to_the_animal(model, layer, head, weight):
    tokens, weights = model.attend(TIRED)
    found = weights[layer, head, tokens.index("it"), tokens.index("animal")]
    assert found.item() == pytest.approx(weight, abs=0.005)


def test_most_heads_of_layers_1_to_4_rest_on_cls(model):
    sink = torch.stack([measure.on_key(model.attend(text)[1], 0) for text in TEXTS]).mean(dim=0)
    n_tokens = len(model.attend(TIRED)[0])
    assert (sink[1:5] > 3 / n_tokens).float().mean() > 0.5
