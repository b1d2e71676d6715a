"""Sentences are read as they are said, and what is none says why."""

import pytest

from mhsa_book.examples.language import Sentence, pairs, translations
from mhsa_book.examples.language.grammar import Clause, Phrase


def test_a_sentence_is_read_as_it_is_said():
    for pair in pairs(300):
        assert Sentence.read(" ".join(pair.source)) == pair.sentence


def test_a_sentence_has_the_parts_that_its_words_say():
    first = Clause("rolan", (Phrase("ot", "meti", "balo"), Phrase("ip", None, "tino")))
    second = Clause("bogan", (Phrase("ul", None, "balo"),))
    read = Sentence.read("rolan ot meti balo ip tino sa bogan ul balo")
    assert read == Sentence((first, second), "sa")


BAD = {
    "": "'' joins nothing; a sentence is one clause, or two with ke or sa between them",
    "rolan ot bal": "'bal' is no word; choose from",
    "balo ot tino": r"'balo' is no verb \(rolan, .*\)",
    "rolan balo": r"'balo' is no number \(ip, ot, ul\)",
    "rolan ip ot": "'ot' is no adjective or noun",
    "rolan ip meti": r"ends before its noun \(mabo,",
    "rolan ip meti lari balo": "'lari' is no noun",
    "rolan": r"ends before its number \(ip, ot, ul\)",
    "rolan ip balo ip tino ip veno": "'ip' is too much; a clause has one phrase or two",
    "rolan ip balo ot balo": "'balo' comes twice in a clause; take another noun",
    "rolan ip balo ke": r"joins \['ke'\]; a sentence is one clause, or two with ke or sa",
    "ke rolan ip balo": r"joins \['ke'\]; a sentence is one clause, or two with ke or sa",
    "rolan ip balo ke sa rolan ip tino": r"joins \['ke', 'sa'\]; a sentence is one",
    "rolan ip balo ke tekan ip balo sa rolan ip tino": r"joins \['ke', 'sa'\]; a sentence",
}


@pytest.mark.bothways
@pytest.mark.parametrize("text", BAD)
def test_what_is_no_sentence_says_why(text):
    for read in (Sentence.read, translations):
        with pytest.raises(ValueError, match=BAD[text]):
            read(text)
