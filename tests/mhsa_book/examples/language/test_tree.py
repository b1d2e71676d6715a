"""The arcs of a made-up sentence are those that its grammar has."""

import pytest

from mhsa_book.examples import language
from mhsa_book.examples.language.words import AMBIGUOUS

PAIRS = language.pairs(200, seed=5)


@pytest.mark.parametrize("pair", PAIRS[:20], ids=str)
def test_words_stand_where_the_sentence_says_them(pair):
    tree = language.tree(pair.sentence)
    assert tuple(word.form for word in tree.words) == pair.sentence.words
    assert tree.text == " ".join(pair.source)
    assert [word.relation for word in tree.words].count("root") == 1


def test_every_arc_but_the_root_leads_to_the_word_it_should():
    leads = {"nummod": "NOUN", "amod": "NOUN", "obj": "VERB", "sense": "VERB", "cc": "VERB"}
    for pair in PAIRS:
        words = language.tree(pair.sentence).words
        for word in words:
            if word.relation in leads:
                assert words[word.head].upos == leads[word.relation]
            elif word.relation == "conj":
                assert (word.upos, word.head) == ("VERB", 0)
            else:
                assert (word.relation, word.head) == ("root", None)


def test_sense_is_the_arc_that_decides_a_translation():
    for pair in PAIRS:
        words = language.tree(pair.sentence).words
        arcs = {(i, word.head) for i, word in enumerate(words) if word.relation == "sense"}
        assert {words[i].form for i, _ in arcs} <= {*AMBIGUOUS}
        told = [word for word in pair.words if "sense" in word.tasks]
        for word in told:
            ((_, verb),) = [arc for arc in arcs if arc[0] in word.aligned]
            assert verb in word.from_source
