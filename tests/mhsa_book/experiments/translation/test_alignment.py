"""Tables of a source word for each target word: right places, right vectors, right errors."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments.translation import alignment
from mhsa_book.experiments.translation.worth import nats, nats_of
from mhsa_book.transformer import PAD, Memory, shifted
from mhsa_lib import masks, trace
from tests.mhsa_book.experiments.translation.small import PAIRS, model

MODEL = model()
SOURCE, TARGET = language.batch(PAIRS)
GIVEN, WANTED = shifted(TARGET)


def test_gold_is_the_alignment_of_the_language():
    table = alignment.gold(PAIRS)
    assert table.shape == (*TARGET.shape, SOURCE.shape[-1])
    for rows, pair in zip(table, PAIRS, strict=True):
        found = [set(row.nonzero().flatten().tolist()) for row in rows[: len(pair.words)]]
        assert found == [set(word.aligned) for word in pair.words]
        assert not rows[len(pair.words) :].any()


@pytest.mark.parametrize(("table", "share"), [([[9, 1], [2, 3]], 0.0), ([[9, 1], [3, 2]], 0.5)])
def test_an_error_is_a_largest_number_at_a_wrong_word(table, share):
    aligned = torch.tensor([[[True, False], [False, True], [False, False]]])
    numbers = torch.tensor([[*map(list, table), [0, 5]]]).float()
    assert alignment.missed(numbers, aligned) == share
    assert alignment.missed(numbers.expand(2, 3, 1, 3, 2), aligned).shape == (2, 3)


def test_one_of_two_aligned_words_is_enough():
    aligned = torch.tensor([[[True, False, True]]])
    assert alignment.missed(torch.tensor([[[0.1, 0.2, 0.7]]]), aligned) == 0
    assert alignment.missed(torch.tensor([[[0.1, 0.6, 0.3]]]), aligned) == 1


def test_gold_misses_nothing_and_turned_around_nearly_all():
    table = alignment.gold(PAIRS).float()
    assert alignment.missed(table, alignment.gold(PAIRS)) == 0
    assert alignment.missed(1 - table, alignment.gold(PAIRS)) == 1


def test_weights_are_those_of_each_cross_attention():
    found = alignment.weights(MODEL, PAIRS)
    for layer in range(2):
        with trace(MODEL.decoder[layer].cross_attention) as wires:
            MODEL(SOURCE, GIVEN)
        assert torch.equal(found[layer], wires["weights"].transpose(0, 1))


def test_what_arrives_adds_up_to_the_output_and_norms_are_its_lengths():
    """Every vector a·v·W_O written out, one head and one pair of words at a time."""
    attention = MODEL.decoder[1].cross_attention
    with trace(attention) as wires:
        MODEL(SOURCE, GIVEN)
    norms, together = alignment.norms(MODEL, PAIRS)[1], alignment.together(MODEL, PAIRS)[1]
    b, t = 1, 3
    arrived = torch.zeros(SOURCE.shape[-1], 12)
    for head in range(2):
        rows = attention.W_O.weight.T[6 * head : 6 * head + 6]
        for s in range(SOURCE.shape[-1]):
            vector = wires["weights"][b, head, t, s] * (wires["v_heads"][b, head, s] @ rows)
            assert_close(norms[head, b, t, s], vector.norm())
            arrived[s] += vector
    assert_close(together[b, t], arrived.norm(dim=-1))
    assert_close(arrived.sum(dim=0), wires["y"][b, t])
    assert (together[b, t] < norms[:, b, t].sum(dim=0) - 1e-3).any()  # heads do not agree


def test_hiding_a_row_is_what_a_decoder_without_it_loses():
    found = alignment.hidden(MODEL, PAIRS)
    rows, mask = MODEL.encode(SOURCE)
    whole = nats(MODEL, PAIRS)
    for place in (0, 3):
        keep = torch.arange(SOURCE.shape[-1]) != place
        both = mask & masks.custom(lambda query, key, keep=keep: keep[key])
        less = nats_of(MODEL.decode(GIVEN, Memory(rows, both)), WANTED)
        assert_close(found[..., place], less - whole)
    assert found[..., 0].abs().sum() > 0.1


def test_padding_is_never_the_row_that_is_missed_most():
    found = alignment.hidden(MODEL, PAIRS)
    padding = (SOURCE == PAD)[:, None].expand_as(found)
    assert padding.any()
    assert (found[padding] == -torch.inf).all()
    assert found[~padding].isfinite().all()


def test_one_sentence_without_padding_can_hide_a_row_too():
    found = alignment.hidden(MODEL, PAIRS[:1])
    assert found.isfinite().all()
    assert found.abs().sum() > 0.1


def test_positions_count_sentences_of_the_same_length_alone():
    four = [
        *language.translations("rolan ot meti balo"),
        *language.translations("miran ip kero"),
    ]
    found = alignment.by_position(four, PAIRS[:1])[0]
    assert found[1].tolist() == [0, 0, 0, 2]  # hai and hoi; the others say ren there
    assert found[2].tolist() == [0, 2, 0, 4]
    assert not alignment.by_position(four[4:], PAIRS[:1]).any()
