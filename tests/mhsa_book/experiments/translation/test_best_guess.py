"""The best guess without the decoder's self-attention, from another way to count."""

import math

import pytest

from mhsa_book.examples import language
from mhsa_book.examples.language.words import GREETINGS
from mhsa_book.experiments.translation.best_guess import best_guess


def test_a_verb_behind_an_adjective_costs_a_coin_for_its_vowel():
    """Only the vowel is open: the word before and the place tell the rest."""
    found = best_guess(language.translations("rolan ot meti balo"))
    assert found["agreement"] == pytest.approx(math.log(2))
    assert found["sense"] == 0


def test_behind_a_noun_it_does_not_know_whether_to_say_it_again():
    """One noun, said twice. By hand: at place 3 behind it, two of the four say it again."""
    found = best_guess(language.translations("rolan ot balo"))
    lengths = {" ".join(greeting): len(greeting) for greeting in GREETINGS}
    assert sorted(lengths.values()) == [1, 1, 2, 2]
    # The noun again: place 2 behind one word of greeting, sure; place 3 behind two, one half.
    # The verb: place 3 behind one word, a half and a coin; place 4 behind two, a coin.
    assert found["count"] == pytest.approx((0 + math.log(2) + math.log(4) + math.log(2)) / 4)
    assert found["agreement"] == pytest.approx((math.log(4) + math.log(2)) / 2)


def test_the_best_guess_pays_the_entropy_on_average_over_the_greetings():
    """Counted over words: among equal views, the entropy of what follows."""
    pairs = [
        each
        for pair in language.pairs(40, seed=3)
        for each in language.translations(" ".join(pair.source))
    ]
    views, nats = {}, 0.0
    for pair in pairs:
        for place, word in enumerate(pair.words):
            if "agreement" in word.tasks:
                view = pair.source, place, pair.target[place - 1]
                views.setdefault(view, []).append(word.text)
    everything = {}
    for pair in pairs:
        for place in range(1, len(pair.words) + 1):
            view = pair.source, place, pair.target[place - 1]
            everything.setdefault(view, []).append((*pair.target, "end")[place])
    for view, verbs in views.items():
        for verb in verbs:
            nats -= math.log(everything[view].count(verb) / len(everything[view]))
    n_words = sum(map(len, views.values()))
    assert best_guess(pairs)["agreement"] == pytest.approx(nats / n_words)
