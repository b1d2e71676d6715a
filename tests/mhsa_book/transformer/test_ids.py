"""Sentences as ids: padded on the right, shifted by one, and a loss that leaves padding out."""

import math

import torch
from torch.testing import assert_close

from mhsa_book.transformer import BOS, EOS, PAD, loss, not_padding, padded, shifted
from mhsa_lib import masks
from tests.helpers.drawn import rand
from tests.mhsa_book.transformer.learned import SENTENCES, TRANSLATIONS, learned
from tests.mhsa_book.transformer.small import given, small, sources

TARGET = padded([[5, 3, 4, EOS], [7, EOS], [4, 4, EOS]])


def test_the_three_signs_are_no_words():
    assert [PAD, BOS, EOS] == [0, 1, 2]


def test_shorter_sentences_go_on_with_padding():
    assert padded([[5], [3, 4]]).tolist() == [[5, PAD], [3, 4]]
    assert padded([[5]]).dtype is torch.int64


def test_every_word_is_asked_for_after_those_before_it():
    given, wanted = shifted(TARGET)
    for before, after, words in zip(given, wanted, TARGET, strict=True):
        n = int((words != PAD).sum())
        for t in range(n):
            assert before[: t + 1].tolist() == [BOS, *words[:t].tolist()]
            assert after[t] == words[t]
        assert after[n:].eq(PAD).all()


def test_one_sentence_is_shifted_like_a_batch():
    assert [t.tolist() for t in shifted(torch.tensor([5, EOS]))] == [[BOS, 5], [5, EOS]]


def test_the_loss_is_the_mean_over_words_and_leaves_padding_out():
    logits = rand(3, 4, 9)
    _, wanted = shifted(TARGET)
    real = [(i, t) for i in range(3) for t in range(4) if wanted[i, t] != PAD]
    surprises = [-logits[i, t].log_softmax(-1)[wanted[i, t]] for i, t in real]
    assert len(real) == 9
    assert_close(loss(logits, wanted), torch.stack(surprises).mean())
    logits[1, 2:] = 1000 * rand(2, 9)
    assert_close(loss(logits, wanted), torch.stack(surprises).mean())
    assert_close(loss(torch.zeros(3, 4, 9), wanted), torch.tensor(math.log(9)))


def test_padding_gets_no_gradient_from_the_loss():
    logits = rand(3, 4, 9).requires_grad_()
    loss(logits, TARGET).backward()
    assert logits.grad[TARGET == PAD].eq(0).all()
    assert logits.grad[TARGET != PAD].ne(0).all()


def test_a_batch_is_learned_by_heart():
    before, after = small(), learned()
    given, wanted = shifted(TRANSLATIONS)
    assert loss(before(SENTENCES, given), wanted) > 1
    assert loss(after(SENTENCES, given), wanted) < 0.05


def test_the_mask_of_padding_has_the_lengths_of_the_sentences():
    assert not_padding(sources()) == masks.key_padding([5, 2, 4])
    assert not_padding(given()) == masks.key_padding([4, 6, 2])
    assert not_padding(torch.tensor([[5, 3], [3, 4]])) is None
    assert not_padding(torch.tensor([5, 3])) is None
    assert not_padding(TARGET.to("meta")) is None
    assert not_padding(torch.stack([sources(), sources()])).dense(1, 5).shape == (2, 3, 1, 1, 5)
