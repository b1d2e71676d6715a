"""A wire changed in every layer at once, against the same change made layer by layer."""

from contextlib import ExitStack

import torch

from mhsa_book import models
from mhsa_book.models.all_layers import edit_layers
from mhsa_book.models.under_mask import under_mask
from mhsa_lib import edit

TEXT = "When Mary and John went to the store"


def no_first(scores):
    scores = scores.clone()
    scores[..., 1:, 0] = -torch.inf
    return scores


def test_it_is_the_same_edit_in_each_layer_and_over_after_the_block():
    lm = models.load("SmolLM2-135M")
    before = lm.logits(TEXT)
    with edit_layers(lm, "scores", no_first):
        together = lm.logits(TEXT)
    with ExitStack() as stack:
        for layer in range(30):
            stack.enter_context(edit(lm.attention(layer), "scores", no_first))
        by_hand = lm.logits(TEXT)
    assert torch.equal(together, by_hand)
    assert (together - before).abs().max() > 0.1
    assert torch.equal(lm.logits(TEXT), before)


def test_a_key_that_is_hidden_by_scores_is_hidden_by_a_mask_too():
    lm = models.load("SmolLM2-135M")
    n = len(lm.ids(TEXT))
    mask = torch.ones(n, n).tril().bool()
    mask[1:, 0] = False
    with under_mask(lm, mask):
        expected = lm.logits(TEXT)
    with edit_layers(lm, "scores", no_first):
        torch.testing.assert_close(lm.logits(TEXT), expected, atol=1e-3, rtol=0)
