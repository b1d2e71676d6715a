"""Each task has two cases that look the same without its attention, and differ."""

from collections import defaultdict
from functools import cache

import pytest

from mhsa_book.examples.language import (
    TASKS,
    Sentence,
    counterexample,
    pairs,
    translate,
    translations,
    visible,
)
from mhsa_book.examples.language.words import GREETINGS, VERBS


@cache
def sentences():
    return [pair.sentence for pair in pairs(400, seed=1)]


def cases():
    """Every word of every translation: the pair and the place."""
    for sentence in sentences():
        for pair in (translate(sentence, greeting) for greeting in GREETINGS):
            for place in range(len(pair.words)):
                yield pair, place


@pytest.mark.parametrize("task", TASKS)
def test_two_cases_look_alike_and_differ(task):
    (one, i), (other, j) = counterexample(task, sentences())
    assert visible(one, i, TASKS[task]) == visible(other, j, TASKS[task])
    assert one.target[i] != other.target[j]
    for pair, place in ((one, i), (other, j)):
        assert task in pair.words[place].tasks
        assert pair in translations(" ".join(pair.source))


def test_what_is_seen_is_this_and_no_more():
    pair = translations("tekan ot meti balo ip tino")[2]
    assert " ".join(pair.target) == "haila ren dastu dastu nalesh shoru krada"
    assert visible(pair, 3, "cross-attention") == ("haila", "ren", "dastu")
    assert visible(pair, 3, "decoder self-attention") == (pair.source, 3, ("dastu",))
    assert visible(pair, 0, "decoder self-attention") == (pair.source, 0, ())
    said = pair.target[:3]
    assert visible(pair, 3, "encoder self-attention") == (said, ((1, "ot"), (3, "balo")))


def test_without_cross_attention_nothing_of_the_source_is_seen():
    (one, i), (other, j) = counterexample("order", sentences())
    assert one.target[:i] == other.target[:j]
    assert one.source != other.source


@pytest.mark.parametrize("task", ["agreement", "count"])
def test_without_its_self_attention_the_decoder_has_the_source_the_place_and_one_word(task):
    (one, i), (other, j) = counterexample(task, sentences())
    assert (one.source, i, one.target[i - 1]) == (other.source, j, other.target[j - 1])
    assert one.target[: i - 1] != other.target[: j - 1]


def test_the_sense_differs_where_even_the_neighbours_agree():
    known = {}
    for pair, place in cases():
        word = pair.words[place]
        if "sense" not in word.tasks:
            continue
        (noun,) = word.aligned
        around = pair.source[noun - 1 : noun + 2]
        other, at = known.setdefault((pair.target[:place], noun, around), (pair, place))
        if other.words[at].text != word.text:
            assert {other.source[0], pair.source[0]} <= VERBS.keys()
            return
    pytest.fail("no two sentences agree around the noun")


def test_with_all_three_attentions_nothing_is_left_open():
    """Whoever sees the source and all words so far is never in doubt after the greeting."""
    right = defaultdict(set)
    for pair, place in cases():
        if place:
            right[pair.source, pair.target[:place]].add(pair.target[place])
    assert all(len(words) == 1 for words in right.values())


def test_other_tasks_are_not_mistaken():
    """What needs no decoder self-attention is decided by source, place and last word."""
    right = defaultdict(set)
    for pair, place in cases():
        word = pair.words[place]
        if word.tasks and not word.tasks & {"agreement", "count"}:
            right[visible(pair, place, "decoder self-attention")].add(word.text)
    assert right
    assert all(len(words) == 1 for words in right.values())


@pytest.mark.bothways
def test_what_cannot_be_asked():
    pair = translations("rolan ot meti balo")[0]
    with pytest.raises(ValueError, match="'attention' is no attention of the model; choose"):
        visible(pair, 1, "attention")
    with pytest.raises(ValueError, match="'rhyme' is no task; choose from"):
        counterexample("rhyme")
    alone = [Sentence.read("rolan ot meti tino")]
    with pytest.raises(ValueError, match="no two of these sentences show that 'sense' needs"):
        counterexample("sense", alone)
