"""Nats are counted where a task is tested, and their interval is that of the sentences."""

import math

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments.translation import ANY, asked, by_task, cost, nats
from mhsa_book.experiments.translation.worth import nats_of
from mhsa_book.transformer import PAD, loss, shifted
from tests.mhsa_book.experiments.translation.small import PAIRS, model

MODEL = model()
SOURCE, TARGET = language.batch(PAIRS)


def test_the_mean_of_all_nats_is_the_loss():
    given, wanted = shifted(TARGET)
    found = nats(MODEL, PAIRS)
    assert_close(found.sum() / (wanted != PAD).sum(), loss(MODEL(SOURCE, given), wanted))
    assert not found[wanted == PAD].any()


def test_the_nats_of_a_word_are_minus_the_log_of_its_probability():
    logits = torch.tensor([[[0.0, math.log(3.0)]]])
    assert_close(nats_of(logits, torch.tensor([[1]])), torch.tensor([[math.log(4 / 3)]]))


@pytest.mark.parametrize("task", language.TASKS)
def test_a_task_is_asked_where_the_language_says(task):
    assert torch.equal(asked(PAIRS, task), language.places(PAIRS, task))


def test_any_is_every_word_behind_the_greeting():
    table = asked(PAIRS, ANY)
    for row, pair in zip(table, PAIRS, strict=True):
        greeting = 2 if pair.words[1].text == "ren" else 1
        expected = [False] * greeting + [True] * (len(pair.words) - greeting)
        assert row[: len(pair.words)].tolist() == expected
        assert not row[len(pair.words) :].any()


def test_by_task_is_the_mean_over_the_words_of_each():
    pairs = language.pairs(64)
    where = language.places(pairs, "sense")
    found = by_task(where.float() * 3, pairs)
    assert [*found] == [*language.TASKS, ANY]
    assert found["sense"] == 3
    assert found["agreement"] == 0
    assert 0 < found["order"] < 3


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Sentences of one to five words, whose words go together: 95 % of the intervals."""
    generator, hits = torch.Generator().manual_seed(0), 0
    for draw in range(300):
        lengths = torch.randint(1, 6, (60,), generator=generator)
        where = torch.arange(5) < lengths[:, None]
        more = torch.randn(60, 1, generator=generator).expand(60, 5) + 2
        found = cost(more, where, n_draws=400, seed=draw)
        hits += found.low <= 2 <= found.high
    assert 0.90 < hits / 300 < 0.98


def test_words_of_one_sentence_are_drawn_together():
    where = torch.ones(8, 50, dtype=torch.bool)
    more = torch.arange(8.0)[:, None].expand(8, 50)
    found = cost(more, where)
    assert found.mean == 3.5
    assert found.high - found.low > 2  # as words on their own it would be 0.4


def test_a_long_sentence_weighs_as_much_as_its_words():
    lengths = torch.tensor([1, 9]).repeat(20)
    where = torch.arange(9) < lengths[:, None]
    found = cost((lengths[:, None] > 1).expand(40, 9).float(), where)
    assert found.mean == pytest.approx(0.9)
    assert 0.8 < found.low < 0.9 < found.high < 0.95


def test_what_is_not_asked_for_does_not_count():
    where = torch.tensor([[True, False], [True, False]])
    assert cost(torch.tensor([[2.0, 7.0], [2.0, 9.0]]), where) == (2, 2, 2)


@pytest.mark.bothways
def test_no_word_and_other_shapes_are_refused():
    more, where = torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="with 0 words; give one shape"):
        cost(more, where)
    with pytest.raises(ValueError, match=r"nats \(2, 3\) and places \(2, 2\)"):
        cost(more, ~where[:, :2])
    with pytest.raises(ValueError, match="n_draws"):
        cost(more, ~where, n_draws=0)
    with pytest.raises(ValueError, match="no word of these 1 pairs tests 'sense'"):
        asked(language.translations("rolan ip mabo")[:1], "sense")
