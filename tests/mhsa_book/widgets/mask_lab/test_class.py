"""The class: the running sentence, masks from Python, and what it refuses."""

import pytest
import torch
from traitlets import TraitError

from mhsa_book import examples
from mhsa_book.equivalence import empty_row
from mhsa_book.widgets import MaskLab
from mhsa_lib import functional, masks
from tests.mhsa_book.widgets.six_words import mask_lab


def test_the_running_sentence_and_its_real_scores():
    lab, mha, x = MaskLab(), examples.attention(), examples.sentences()[0]
    q, k, _ = mha.split(*mha.project(x, x))
    assert lab.tokens == list(examples.SENTENCES[0])
    torch.testing.assert_close(
        torch.tensor(lab.scores), functional.score(q, k, scale=0.5).detach()
    )
    wanted = functional.softmax(
        functional.score(q, k, scale=0.5), masks.causal.dense(7, 7)[None]
    )
    torch.testing.assert_close(lab.weights, wanted[0].detach())


@pytest.mark.parametrize("rule", [masks.padding([4]), masks.prefix(2), ~masks.causal, "tensor"])
def test_a_mask_from_python_is_kept_as_the_readers_own(rule):
    dense = torch.rand(6, 6) < 0.5 if rule == "tensor" else rule.dense(6, 6).reshape(6, 6)
    lab = mask_lab(mask=dense if rule == "tensor" else rule)
    assert lab.kind == "your own"
    assert torch.equal(lab.mask, dense)
    lab.mask = None
    assert lab.kind == "none"
    assert lab.mask.all()


def test_the_answers_travel_as_they_were_run():
    assert [tuple(answer.values()) for answer in mask_lab().answers] == empty_row.answers()


def test_a_row_of_keys_serves_every_query():
    assert mask_lab(mask=torch.tensor([True] * 3 + [False] * 3)).mask.sum() == 18


def test_what_does_not_fit_is_refused_with_a_repair():
    scores = torch.zeros(2, 3, 3)
    for wrong, tokens, words in [
        (scores, ["a"] * 4, r"scores have shape \(2, 3, 3\); 4 tokens need"),
        (torch.zeros(3, 3), ["a"] * 3, r"\(3, 3\); 3 tokens need \(head, query, key\)"),
        (torch.zeros(1, 11, 11), ["a"] * 11, "11 tokens do not fit; use at most 10"),
        (scores / 0, ["a"] * 3, "scores hold NaN"),
        (scores, [], "tokens=0 is not a size"),
    ]:
        with pytest.raises(ValueError, match=words):
            MaskLab(wrong, tokens)


def test_a_mask_that_is_no_mask_is_refused_in_the_words_of_the_library():
    with pytest.raises(TypeError, match='True means "may attend"'):
        mask_lab(mask=torch.zeros(6, 6))
    with pytest.raises(ValueError, match="does not fit scores"):
        mask_lab(mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match="pass a bool tensor or a predicate"):
        mask_lab(mask="causal")


def test_traits_that_are_not_there_are_refused():
    for wrong, words in [
        ({"head": 3}, "head=3 is not there; the last is 2"),
        ({"kind": "diagonal"}, "diagonal"),
        ({"n": 0}, "not be less than 1"),
        ({"painted": [[True]]}, "6 rows of 6 booleans"),
        ({"painted": [[1] * 6] * 6}, "6 rows of 6 booleans"),
    ]:
        with pytest.raises(TraitError, match=words):
            mask_lab(**wrong)


def test_the_alternative_text_counts_pairs_and_empty_rows():
    assert "21 of 36 pairs may look, and 0 queries" in mask_lab().alt
    assert "16 of 36 pairs may look, and 2 queries" in mask_lab(kind="padding", n=4).alt
