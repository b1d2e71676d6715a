"""The translation is unique but for its greeting, can be undone, and knows what decides it."""

import math
from collections import defaultdict

import pytest

from mhsa_book.examples.language import CHOICE, TASKS, Sentence, pairs, translate, translations
from mhsa_book.examples.language.words import (
    ADJECTIVES,
    AMBIGUOUS,
    DRY,
    GREETINGS,
    JOINS,
    NOUNS,
    NUMBERS,
    PLAIN,
    VERBS,
    WET,
)

DRAWN = pairs(300)
SENTENCES = [pair.sentence for pair in DRAWN]


def back(target: tuple[str, ...]) -> str:
    """The source of a translation, found by other means: from its end to its beginning."""
    nouns = {said: noun for noun, said in PLAIN.items()}
    nouns |= {said: noun for noun, both in AMBIGUOUS.items() for said in both}
    verbs = {stem + vowel: verb for verb, stem in VERBS.items() for vowel in "ao"}
    adjectives = {said: word for word, said in ADJECTIVES.items()}
    joins = {said: word for word, said in JOINS.items()}
    numbers = {n: word for word, n in NUMBERS.items()}
    out, clause, words = [], [], [word for word in target if word not in sum(GREETINGS, ())]
    while words:
        word = words.pop(0)
        if word in nouns:
            n = 1
            while words[0] == word:
                n += bool(words.pop(0))
            adjective = [adjectives[words.pop(0)]] if words[0] in adjectives else []
            clause += [numbers[n], *adjective, nouns[word]]
        elif word in verbs:
            out += [verbs[word], *clause]
            clause = []
        else:
            out.append(joins[word])
    return " ".join(out)


def test_a_translation_can_be_undone():
    for sentence in SENTENCES:
        for greeting in GREETINGS:
            pair = translate(sentence, greeting)
            assert back(pair.target) == " ".join(sentence.words)


def test_a_sentence_worked_by_hand():
    pair = translations("pudan ot meti balo ip tino sa rolan ul balo")[3]
    target = "hoila ren dastu dastu nalesh shoru toso vel mirru mirru mirru melo"
    assert " ".join(pair.target) == target
    sets = [("aligned", [[], [], [3], [1, 3], [2], [5], [0], [6], [9], [8, 9], [8, 9], [7]])]
    decided = [[], [], [0, 3], [0, 1, 3], [1, 2], [5], [0, 4], [6], [7, 9], [7, 8, 9]]
    sets += [("from_source", [*decided, [7, 8, 9], [7, 8]])]
    earlier = [[], [0], [], [2], [2, 3], [], [0, 5], [], [], [8], [8, 9], [0, 8, 9, 10]]
    sets += [("from_target", earlier)]
    for name, expected in sets:
        assert [sorted(getattr(word, name)) for word in pair.words] == expected, name
    o, s, c, a = "order", "sense", "count", "agreement"
    tasks = [{}, {}, {o, s}, {c}, {o, c}, {o}, {o, c, a}, {o}, {o, s}, {c}, {c}, {o, c, a}]
    assert [word.tasks for word in pair.words] == list(map(set, tasks))


def test_after_the_first_word_only_one_is_right():
    for sentence in SENTENCES:
        after = defaultdict(set)
        for pair in (translate(sentence, greeting) for greeting in GREETINGS):
            for place, word in enumerate((*pair.target, "the end")):
                after[pair.target[:place]].add(word)
        assert after.pop(()) == {greeting[0] for greeting in GREETINGS}
        assert all(len(words) == 1 for words in after.values())
    assert math.log(4) == CHOICE


def test_every_word_but_the_greeting_is_tested_and_aligned():
    for pair in DRAWN:
        n_greeting = 1 + ("ren" in pair.target)
        for place, word in enumerate(pair.words):
            assert bool(word.tasks) == bool(word.aligned) == (place >= n_greeting)
            assert word.tasks <= TASKS.keys()
            assert all(0 <= at < len(pair.source) for at in word.aligned | word.from_source)
            assert all(0 <= at < place for at in word.from_target)


def test_every_source_word_is_aligned_except_a_number_that_is_one():
    for pair in DRAWN:
        aligned = frozenset().union(*(word.aligned for word in pair.words))
        ones = {at for at, word in enumerate(pair.source) if word == "ip"}
        assert aligned == set(range(len(pair.source))) - ones


def alike(word: str) -> list[str]:
    """Words that may take the place of a word without changing how long anything is."""
    kinds = [PLAIN, AMBIGUOUS, ADJECTIVES, VERBS, JOINS]
    return [w for kind in kinds if word in kind for w in kind if w != word]


def test_a_source_word_changes_the_words_that_it_decides_and_no_others():
    for pair in DRAWN[:100]:
        greeting = next(g for g in GREETINGS if pair.target[: len(g)] == g)
        for at, old in enumerate(pair.source):
            if old in NUMBERS:
                continue
            decided = {i for i, word in enumerate(pair.words) if at in word.from_source}
            changed = set()
            for new in alike(old):
                source = [*pair.source]
                source[at] = new
                if source.count(new) > 1 and new in NOUNS:
                    continue
                other = translate(Sentence.read(" ".join(source)), greeting)
                differ = {i for i, w in enumerate(other.words) if w.text != pair.target[i]}
                changed |= differ
            assert changed == decided, (pair, old)


def test_a_number_changes_first_a_word_that_it_decides():
    for pair in DRAWN[:100]:
        greeting = next(g for g in GREETINGS if pair.target[: len(g)] == g)
        for at, old in enumerate(pair.source):
            for new in NUMBERS.keys() - {old} if old in NUMBERS else ():
                source = [*pair.source]
                source[at] = new
                other = translate(Sentence.read(" ".join(source)), greeting)
                both = zip(pair.words, other.words, strict=False)
                first = next((a, b) for a, b in both if a.text != b.text)
                assert all(at in word.from_source for word in first)
                assert any("count" in word.tasks for word in first)


def test_the_greeting_changes_verbs_and_nothing_else():
    for sentence in SENTENCES:
        for one, other in (("hai", "hoi"), ("haila", "hoila")):
            rest = ("ren",) * (one == "haila")
            pair, changed = (translate(sentence, (g, *rest)) for g in (one, other))
            differ = [a.text != b.text for a, b in zip(pair.words, changed.words, strict=True)]
            assert differ[0]
            agrees = ["agreement" in word.tasks for word in pair.words]
            assert differ[1:] == agrees[1:]
            assert all(
                (0 in word.from_target) == agrees or word.text == "ren"
                for word, agrees in zip(pair.words, agrees, strict=True)
            )


def test_an_ambiguous_noun_follows_the_verb_of_its_clause():
    for noun, (wet, dry) in AMBIGUOUS.items():
        for verb in VERBS:
            other = next(iter(DRY if verb in WET else WET))
            pair = translations(f"{other} ip tino ke {verb} ip {noun}")[0]
            assert pair.target[-2] == (wet if verb in WET else dry)
            assert pair.words[-2].tasks == {"order", "sense"}


def test_only_the_first_ambiguous_noun_of_a_clause_tests_the_sense():
    pair = translations("rolan ip balo ip kero ke pudan ip tino ip zuko")[0]
    tests = [word.text for word in pair.words if "sense" in word.tasks]
    assert tests == ["mirru", "kaptu"]


def test_the_word_that_tells_the_sense_is_never_a_neighbour():
    for pair in DRAWN:
        for word in pair.words:
            if "sense" in word.tasks:
                (noun,) = word.aligned
                (verb,) = (at for at in word.from_source if pair.source[at] in VERBS)
                assert verb < noun - 1


def test_no_fixed_step_finds_the_word_that_is_translated():
    steps = {
        at - place
        for pair in DRAWN
        for place, word in enumerate(pair.words)
        if "order" in word.tasks
        for at in word.aligned
    }
    shares = {step: share(step) for step in steps}
    assert max(shares.values()) < 0.25


def share(step: int) -> float:
    """How often a translated word stands that many places further in the source."""
    right = [
        place + step in word.aligned
        for pair in DRAWN
        for place, word in enumerate(pair.words)
        if "order" in word.tasks
    ]
    return sum(right) / len(right)


@pytest.mark.bothways
def test_a_greeting_that_is_none():
    with pytest.raises(
        ValueError, match=r"\('hello',\) is no greeting; choose from \[\('hai',"
    ):
        translate(SENTENCES[0], ("hello",))
