"""What heads look at: the places, from the grammar, and the weights, by hand."""

import pytest
import torch

from mhsa_book.examples import language
from mhsa_book.experiments import translation
from mhsa_book.experiments.translation import at_work as study
from mhsa_book.experiments.translation import learning, measured
from mhsa_book.models.translator import translator
from mhsa_book.results.translators_at_work import AtWork, kept
from mhsa_book.transformer import shifted
from mhsa_lib import trace

TEXT = "rolan ot meti balo ke tekan ip balo"


def test_the_verb_is_that_of_the_nouns_own_clause():
    pairs = language.translations(TEXT)[:1]
    found = [look[1:] for look in study.looks(pairs, "verb of an ambiguous noun")]
    assert found == [(3, (0,)), (7, (5,))]
    found = [look[1:] for look in study.looks(pairs, "verb, where an ambiguous noun is said")]
    assert [(pairs[0].target[row], places) for row, places in found] == [
        ("mirru", (0,)),
        ("dastu", (5,)),
    ]


def test_a_row_says_its_word_and_the_greeting_is_read_behind_the_beginning():
    pairs = language.translations(TEXT)
    given, wanted = shifted(language.batch(pairs)[1])
    verbs = [*study.looks(pairs, "greeting, where a verb is said")]
    for sentence, row, (place,) in verbs:
        assert language.TARGET.tokens[wanted[sentence, row]][:-1] in ("mel", "krad")
        assert language.TARGET.tokens[given[sentence, place]] == pairs[sentence].target[0]
    others = [*study.looks(pairs, "greeting, where another word is said")]
    assert len(verbs) == 8
    n_words = 7  # behind the greeting, two of them verbs
    assert len(others) == len(pairs) * (n_words - 2)


def test_a_weight_is_the_mean_over_the_places_of_a_half():
    model, pairs = translator(), measured.fresh_pairs(8)
    found = study.at_work(model, pairs)
    for half, part in enumerate((pairs[:4], pairs[4:])):
        weights = []
        for pair in part:
            source, target = language.batch([pair])
            with trace(model) as wires:
                model(source, shifted(target)[0])
            table = wires["decoder.1.cross_attention"]["weights"][0, 2]
            weights += [
                float(table[row, sorted(word.aligned)].sum())
                for row, word in enumerate(pair.words)
                if word.aligned
            ]
        expected = sum(weights) / len(weights)
        assert found["translated words"]["cross L1H2"][half] == pytest.approx(
            expected, abs=1e-4
        )


def test_sure_of_wrong_counts_the_likeliest_word():
    model, pairs = translator(), measured.fresh_pairs(64)
    found = study.sure_of_wrong(model, pairs)[study.ENCODER]["sense"]
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    off = measured.groups(model)[study.ENCODER]
    with torch.no_grad(), translation.without(model, off, measured.ways(model)["mean"]):
        chances = model(source, given).softmax(dim=-1)
    at = translation.asked(pairs, "sense")
    right = chances.gather(-1, wanted[..., None])[..., 0][at]
    largest = chances[at].max(dim=-1).values
    assert found[0] == pytest.approx((right < largest).double().mean().item())
    assert found[1] == pytest.approx(((right < largest) & (largest > 0.9)).double().mean())
    assert 0 < found[1] < found[0] < 1


def test_an_untrained_model_looks_nowhere_in_particular():
    found = study.at_work(learning.untrained(seed=0).eval(), measured.fresh_pairs(64))
    most = max(max(halves) for heads in found.values() for halves in heads.values())
    assert most < 0.45


def test_the_head_is_chosen_on_one_half_and_shown_on_the_other():
    heads = {"a": [0.9, 0.2], "b": [0.8, 0.7]}
    found = AtWork((), "", {}, {"0": {"x": heads, "y": heads}}, {}, {})
    assert found.chosen("x") == ("a",)
    assert tuple(found.held_out("x")) == (0.2,)
    assert tuple(found.held_out("y", by="x")) == (0.2,)


def test_the_stored_numbers_are_of_eight_models_and_four():
    found = kept()
    assert [*found.models] == [*"01234567"]
    assert [*found.never] == [*"0123"]
    assert [*found.sure_of_wrong] == [*found.models]
    assert found.predictions == study.PREDICTIONS
    for verdict in study.verdicts(found):
        assert len(verdict.held) <= verdict.promised
