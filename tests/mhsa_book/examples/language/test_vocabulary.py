"""Words become ids and words again; a batch goes into the model."""

import pytest
import torch

from mhsa_book.examples.language import SOURCE, TARGET, TASKS, batch, pairs, places
from mhsa_book.transformer import BOS, EOS, PAD, EncoderDecoder, greedy, loss, shifted

DRAWN = pairs(50)


def test_words_become_ids_and_words_again():
    source, target = batch(DRAWN)
    for pair, ids, said in zip(DRAWN, source, target, strict=True):
        assert SOURCE.words(ids) == pair.source
        assert TARGET.words(said) == pair.target
        assert said[len(pair.target)] == EOS
        assert said[len(pair.target) + 1 :].eq(PAD).all()


def test_ids_count_from_the_three_signs_on():
    assert SOURCE.ids(SOURCE.tokens[3:]) == list(range(3, len(SOURCE)))
    assert (len(SOURCE), len(TARGET)) == (36, 50)
    assert TARGET.tokens[:3] == ("·", "▷", "◁")
    assert [TARGET.tokens[i] for i in (PAD, BOS, EOS)] == ["·", "▷", "◁"]


def test_words_end_with_the_sentence():
    assert SOURCE.words([BOS, 5, EOS, 7, PAD]) == (SOURCE.tokens[5],)


@pytest.mark.parametrize("task", TASKS)
def test_where_a_task_is_tested(task):
    where, (_, target) = places(DRAWN, task), batch(DRAWN)
    assert where.shape == target.shape
    for pair, row, ids in zip(DRAWN, where, target, strict=True):
        said = [TARGET.tokens[i] for i in ids[row].tolist()]
        assert said == [word.text for word in pair.words if task in word.tasks]


def test_a_batch_goes_through_the_model():
    model = EncoderDecoder(len(SOURCE), len(TARGET), 13, d_model=12, n_heads=3)
    source, target = batch(DRAWN)
    given, wanted = shifted(target)
    assert torch.isfinite(loss(model(source, given), wanted))
    ids = greedy(model, source[:2]).ids
    assert all(set(TARGET.words(row)) <= set(TARGET.tokens) for row in ids)


@pytest.mark.bothways
def test_what_is_not_in_the_language():
    with pytest.raises(ValueError, match="'hai' is no word of this language; it has"):
        SOURCE.ids(["balo", "hai"])
    with pytest.raises(ValueError, match="'◁' is no word"):
        TARGET.ids(["◁"])
    with pytest.raises(ValueError, match="'rhyme' is no task; choose from"):
        places(DRAWN, "rhyme")
