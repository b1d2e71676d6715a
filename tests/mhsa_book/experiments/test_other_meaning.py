"""What is said in place of a noun, and which row of the memory tells its meaning."""

import pytest
import torch

from mhsa_book.examples import language
from mhsa_book.experiments import other_meaning as study
from mhsa_book.experiments import translation
from mhsa_book.experiments.translation import measured
from mhsa_book.experiments.translation.at_work import ENCODER
from mhsa_book.models.translator import translator
from mhsa_book.results.measured import kept
from mhsa_book.transformer import Memory, shifted
from mhsa_lib import trace

TEXT = "rolan ot meti balo ke tekan ip balo"


@pytest.fixture(scope="module")
def model():
    return translator()


def test_a_noun_has_the_verb_of_its_own_clause():
    pairs = language.translations(TEXT)[:1]
    found = study.nouns(pairs)
    said = [
        (pairs[i].target[row], pairs[i].source[noun], pairs[i].source[verb])
        for i, row, noun, verb in found
    ]
    assert said == [("mirru", "balo", "rolan"), ("dastu", "balo", "tekan")]


def test_words_that_differ_in_meaning_or_vowel_alone_become_alike():
    assert study.meanings_left_out("mirru") == study.meanings_left_out("dastu")
    assert study.meanings_left_out("mirru") != study.meanings_left_out("kelu")
    assert study.vowels_left_out("mela") == study.vowels_left_out("melo")
    assert study.vowels_left_out("mela") != study.vowels_left_out("krada")
    assert study.vowels_left_out("mirru") == "mirru"  # no verb
    assert len(study.OTHER) == 12
    assert {study.TURNED[study.TURNED[verb]] for verb in study.TURNED} == {*study.TURNED}


def test_what_is_said_instead_is_counted_word_by_word(model):
    pairs = measured.fresh_pairs(32)
    found = study.instead(model, pairs)
    off, put = measured.groups(model)[ENCODER], measured.ways(model)["mean"]
    nouns = wrong = other = 0
    for pair in pairs:
        source, target = language.batch([pair])
        with torch.no_grad(), translation.without(model, off, put):
            likeliest = model(source, shifted(target)[0])[0].argmax(dim=-1)
        for row, word in enumerate(pair.words):
            if "sense" in word.tasks:
                said = language.TARGET.tokens[likeliest[row]]
                nouns, wrong = nouns + 1, wrong + (said != word.text)
                other += study.OTHER[word.text] == said
    assert list(found.values()) == [nouns, wrong, other]
    assert 0 < other <= wrong < nouns


def test_one_row_of_the_memory_is_anothers_and_nothing_else(model):
    """By hand, for one sentence: the row of the noun comes from the sentence with tekan."""
    pair = language.translations("rolan ot meti balo")[0]
    source, target = language.batch([pair])
    other, _ = language.batch(language.translations("tekan ot meti balo")[:1])
    with torch.no_grad():
        memory, rows = model.encode(source), model.encode(source).rows.clone()
        rows[0, 3] = model.encode(other).rows[0, 3]
        logits = model.decode(shifted(target)[0], Memory(rows, memory.mask))
    assert language.TARGET.tokens[logits[0, 1].argmax()] == "dastu"
    assert study.patched(model, [pair]) == {
        "nouns": 1,
        "row of the noun": 1,
        "row of the verb": 0,
        "both": 1,
    }


def test_the_weight_on_the_verb_of_a_plain_noun_is_a_mean_over_plain_nouns(model):
    pairs = language.translations("tekan ip mabo")[:2]  # one in either half
    found = study.to_the_verb(model, pairs)
    for half, pair in enumerate(pairs):
        source, target = language.batch([pair])
        with torch.no_grad(), trace(model) as wires:
            model(source, shifted(target)[0])
        row = pair.target.index("kelu")
        weight = wires["decoder.1.cross_attention"]["weights"][0, 2, row, 0]
        assert found["cross L1H2"][half] == pytest.approx(float(weight), abs=1e-5)


def test_the_stored_numbers_are_of_eight_models_and_four(model):
    found = kept("other_meaning").found
    assert [*found["models"]] == [*"01234567"]
    assert [*found["never"]] == [*"0123"]
    pairs = measured.fresh_pairs()
    assert study.patched(model, pairs) == found["models"]["0"]["patched"]
