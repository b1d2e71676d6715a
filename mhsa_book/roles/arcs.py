"""Arcs between words: who should look at whom, and how often a head or a simple guess is right.

An arc goes from a word to its partner. For a dependency it is annotated from the dependent to
its head; ``turned`` gives the other direction, in which the head looks at its dependent. A head
of the model is right about an arc if, of all other words, the partner gets the largest weight
of the word's row. That is Voita's rule in both directions. Clark et al. turn the map and not
the arc: there a dependent's column is searched for the word that looks at it most, which is
``hits(tops([each.mT for each in maps]), arcs)``.

Source: Voita et al., "Analyzing Multi-Head Self-Attention", section 5.2, arXiv 1905.09418;
Clark et al., "What Does BERT Look At?", sections 4.2 and 4.3, arXiv 1906.04341.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_book.roles.looking import Tops
from mhsa_book.roles.reading import Sentence

NOUNS = ("NOUN", "PROPN")
"""What counts as a noun: names too."""

CLASSES = {
    "noun": NOUNS,
    "verb": ("VERB",),
    "noun or verb": (*NOUNS, "VERB"),
    "verb or adjective": ("VERB", "ADJ"),
}
"""Parts of speech that a guess may look for."""

DIRECTIONS = ("dependent looks at head", "head looks at dependent")
"""As ``hits_both_ways`` has them: the arcs, then the arcs turned."""


class Arcs(NamedTuple):
    """Arcs of many sentences, all (arc), places of words counted from 0."""

    sentence: Tensor
    """The sentence it is in."""

    word: Tensor
    """Who looks."""

    partner: Tensor
    """Who should be looked at."""

    n_words: Tensor
    """Words of the sentence."""

    def turned(self) -> "Arcs":
        """The same arcs, the partner looking at the word."""
        return self._replace(word=self.partner, partner=self.word)


def dependencies(sentences: Sequence[Sentence], *relations: str) -> Arcs:
    """Every arc of some relations, from the dependent to its head.

    A relation is meant as it is written: "nsubj" is not "nsubj:pass". Raises ``ValueError`` if
    there is none.
    """
    found = [
        (i, j, word.head, len(sentence.words))
        for i, sentence in enumerate(sentences)
        for j, word in enumerate(sentence.words)
        if word.relation in relations and word.head is not None
    ]
    if not found:
        known = sorted({word.relation for sentence in sentences for word in sentence.words})
        raise ValueError(
            f"no arc is {' or '.join(relations) or 'of no relation'}; these sentences have "
            f"{', '.join(known) or 'no words'}."
        )
    return Arcs(*torch.tensor(found).unbind(dim=1))


def antecedents(sentences: Sequence[Sentence]) -> Arcs:
    """From every pronoun to its antecedent, if that stands before it.

    A pronoun in front of what it stands for cannot look back at it, and is left out. Raises
    ``ValueError`` if no arc remains.
    """
    found = [
        (i, j, word.antecedent, len(sentence.words))
        for i, sentence in enumerate(sentences)
        for j, word in enumerate(sentence.words)
        if word.antecedent is not None and word.antecedent < j
    ]
    if not found:
        raise ValueError(
            f"none of {len(sentences)} sentences has a pronoun behind its antecedent; pass "
            f"others."
        )
    return Arcs(*torch.tensor(found).unbind(dim=1))


def hits(tops: Tops, arcs: Arcs) -> Tensor:
    """Whether a head is right about an arc, (arc, layer, head).

    >>> tops = torch.tensor([[[[1, 2, 0]]]])  # one sentence, layer and head, three words
    >>> one, two = torch.tensor([0, 0]), torch.tensor([1, 2])
    >>> hits(tops, Arcs(torch.tensor([0, 0]), one, two, torch.tensor([3, 3]))).flatten()
    tensor([ True, False])
    """
    return tops[arcs.sentence, :, :, arcs.word] == arcs.partner[:, None, None]


def hits_both_ways(tops: Tops, arcs: Arcs) -> Tensor:
    """Whether a head is right, (arc, direction, layer, head); the arcs, then turned."""
    return torch.stack([hits(tops, arcs), hits(tops, arcs.turned())], dim=1)


def offsets(arcs: Arcs) -> Tensor:
    """How many words further the partner stands, (arc): -1 is the word before."""
    return arcs.partner - arcs.word


def fixed_offset(arcs: Arcs) -> dict[int, Tensor]:
    """Guesses that always go equally far: for every distance, whether it is right, (arc).

    Only distances that some arc has are tried; the best of them is the published baseline.
    Turned arcs have the opposite distances and the same shares.

    >>> word, partner = torch.tensor([0, 1]), torch.tensor([1, 4])
    >>> fixed_offset(Arcs(torch.zeros(2).long(), word, partner, torch.tensor([5, 5])))
    {1: tensor([ True, False]), 3: tensor([False,  True])}
    """
    far = offsets(arcs)
    return {offset: far == offset for offset in far.unique().tolist()}


def nouns_before(sentences: Sequence[Sentence], arcs: Arcs) -> dict[str, Tensor]:
    """Guesses that take a noun before the word, the nearest or the first: right or not, (arc).

    Any noun, or one that is a subject: a pronoun often stands for that. Where no such noun
    stands before, neither is right.
    """
    found: dict[str, list[bool]] = {}
    for i, word, partner in zip(*(field.tolist() for field in arcs[:3]), strict=True):
        nouns = [each for each in sentences[i].words[:word] if each.upos in NOUNS]
        subjects = [each for each in nouns if each.relation.startswith("nsubj")]
        right = sentences[i].words[partner]
        for name, some in {"noun": nouns, "subject": subjects}.items():
            for which, place in {"nearest": slice(-1, None), "first": slice(1)}.items():
                found.setdefault(f"{which} {name}", []).append(some[place] == [right])
    return {name: torch.tensor(right) for name, right in found.items()}


def of_a_class(sentences: Sequence[Sentence], arcs: Arcs) -> dict[str, Tensor]:
    """Guesses that take the nearest word of a class, after or before: right or not, (arc).

    They know parts of speech, as annotated, and no tree. The names are those of ``CLASSES``
    with "next" or "previous". Where no such word stands there, the guess is not right.
    """
    found: dict[str, list[bool]] = {}
    for i, word, partner in zip(*(field.tolist() for field in arcs[:3]), strict=True):
        words = sentences[i].words
        for name, tags in CLASSES.items():
            alike = [j for j, each in enumerate(words) if each.upos in tags]
            after = next((j for j in alike if j > word), None)
            before = next((j for j in reversed(alike) if j < word), None)
            found.setdefault(f"next {name}", []).append(after == partner)
            found.setdefault(f"previous {name}", []).append(before == partner)
    return {name: torch.tensor(right) for name, right in found.items()}
