"""The sentences in which somebody gives are balanced, so that their mean names nobody."""

from collections import Counter

from mhsa_book import models, widgets
from mhsa_book.examples import giving_sentences
from mhsa_book.examples.giving import NAMES


def test_every_name_gives_twice_receives_twice_and_comes_first_twice():
    words = [sentence.split() for sentence in giving_sentences()]
    pairs = [(w[1], w[3]) for w in words]
    givers = [w[8] for w in words]
    receivers = [({*pair} - {giver}).pop() for pair, giver in zip(pairs, givers, strict=True)]
    for each in (givers, receivers, [pair[0] for pair in pairs]):
        assert Counter(each) == dict.fromkeys(NAMES, 2)


def test_they_are_those_of_the_first_page():
    assert widgets.NineHeads().over == giving_sentences()


def test_every_name_is_one_token():
    lm = models.load("SmolLM2-135M")
    assert {len(lm.tokens(sentence)) for sentence in giving_sentences()} == {14}
