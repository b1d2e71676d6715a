"""Chapter 10: what is said about translations, shifted targets, rows and pairs of sentences."""

import pytest
import torch

from mhsa_book.exercises import check
from mhsa_book.exercises.transformer import N_SAID, N_SOURCE, TEXT, by_hand, projected
from mhsa_book.transformer import BOS, EOS, EncoderDecoder, greedy, recomputing, remembering


def test_the_sentence_is_translated_as_the_rules_say():
    assert TEXT == "miran ul noso ip rupo"
    assert by_hand() == "hoi yamu yamu yamu vastu sulo"
    assert check("by_hand", "hoi yamu yamu yamu vastu sulo")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("hoi rektu rektu rektu vastu sulo", "wet verb"),
        ("hoi yamu yamu yamu vastu sula", "-o"),
        ("hoi sulo yamu yamu yamu vastu", "last"),
        ("hoi yamu vastu sulo", "three times"),
        ("yamu yamu yamu vastu sulo", "greeting"),
        ("hai", "not it"),
    ],
)
def test_another_translation_hears_why(answer, said):
    assert said in check("by_hand", answer).text


def test_a_shift_by_hand_is_right():
    def shift(target):
        begin = torch.full((len(target), 1), BOS)
        return torch.cat([begin, target[:, :-1]], dim=1), target

    assert check("shifted_by_hand", shift)
    assert not check("shifted_by_hand", lambda target: (target, target))
    assert not check("shifted_by_hand", lambda target: shift(target)[::-1])


@pytest.mark.parametrize(("way", "place"), [(remembering, 0), (recomputing, 1)])
def test_the_rows_are_those_that_the_projection_is_given(way, place):
    torch.manual_seed(0)
    model = EncoderDecoder(9, 8, N_SAID, d_model=12, n_heads=3).requires_grad_(False)
    model.decoder_norm.weight.zero_()
    model.decoder_norm.bias.fill_(1)
    model.unembed.weight[EOS] = -9  # it never ends, so it fills all positions
    rows = []
    model.decoder[0].cross_attention.project.W_K.register_forward_pre_hook(
        lambda module, args: rows.append(args[0].shape[-2])
    )
    said = greedy(model, torch.randint(3, 9, (1, N_SOURCE)), way)
    assert said.ids.shape == (1, N_SAID)
    assert sum(rows) == projected()[place]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((12, 144), "end of the sentence"),
        ((156, 12), "other way round"),
        ((1, 12), "count all"),
        (12, "not it"),
    ],
)
def test_other_counts_hear_why(answer, said):
    assert check("rows_projected", (12, 156))
    assert said in check("rows_projected", answer).text


@pytest.mark.parametrize(
    "answer",
    [
        ("rolan ot balo", "tekan ot balo"),
        ("rolan ip mabo ot kero", "bogan ip mabo ot kero"),
        ["rolan ot balo sa miran ul zuko", "rolan ot balo sa pudan ul zuko"],
    ],
)
def test_a_verb_of_the_other_kind_decides(answer):
    assert check("one_word_decides", answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (("rolan ot balo", "miran ot balo"), "in the same way"),  # both wet
        (("rolan ot mabo", "tekan ot mabo"), "in the same way"),
        (("rolan ip balo", "rolan ul balo"), "in the same way"),
        (("rolan ot balo", "rolan ot kero"), "in the same way"),
        (("rolan ot balo", "tekan ip balo"), "differ in 2 words"),
        (("rolan ot balo", "rolan ot balo"), "differ in 0 words"),
        (("rolan ot balo", "tekan ot lari balo"), "One has 3 words and the other 4."),
        (("rolan balo", "tekan balo"), "is no number"),
        ("rolan ot balo", "two sentences"),
        ((1, 2), "Trying it raises"),
    ],
)
def test_other_pairs_hear_why(answer, said):
    assert said in check("one_word_decides", answer).text
