"""A language model under another mask: what its rows can read, and that it ends."""

import pytest
import torch

from mhsa_book import models
from mhsa_lib import masks

TEXT, OTHER = "The cat sat on the mat.", "The cat sat on the roof."


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


def moved(lm):
    """How far each row before the word that differs moves with it."""
    n = lm.tokens(TEXT).index(" mat")
    return (lm.logits(TEXT) - lm.logits(OTHER))[:n].abs().amax(dim=-1)


def test_without_a_mask_earlier_rows_read_what_follows_and_with_their_own_they_do_not(lm):
    before = lm.logits(TEXT)
    assert moved(lm).max() == 0
    with models.under_mask(lm, None):
        assert (moved(lm) > 0.5).all()
    assert torch.equal(lm.logits(TEXT), before)


def test_its_own_mask_changes_nothing(lm):
    before = lm.logits(TEXT)
    with models.under_mask(lm, masks.causal):
        assert torch.allclose(lm.logits(TEXT), before, atol=1e-3)


def test_a_document_is_read_as_if_alone(lm):
    second = " The capital of France is"
    n, m = len(lm.ids(TEXT)), len(lm.ids(second))
    rule = masks.causal & masks.documents([0] * n + [1] * m)
    with models.under_mask(lm, rule):
        packed = lm.logits(TEXT + second)
    assert torch.allclose(packed[n:], lm.logits(second), atol=1e-2)
    assert torch.allclose(packed[:n], lm.logits(TEXT), atol=1e-2)


def test_a_mask_that_does_not_fit_is_refused_and_the_model_is_as_before(lm):
    before = lm.logits(TEXT)
    with (
        models.under_mask(lm, torch.ones(3, 3, dtype=torch.bool)),
        pytest.raises(ValueError, match="does not fit"),
    ):
        lm.logits(TEXT)
    assert torch.equal(lm.logits(TEXT), before)
