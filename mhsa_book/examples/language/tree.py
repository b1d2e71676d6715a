"""The grammar of a source sentence as arcs: which word depends on which, known for certain.

::

    root      the first verb               cc    the join, on the verb of the second clause
    conj      the second verb, on the first
    obj       a noun, on its verb          sense an ambiguous noun, on its verb: it decides
    nummod    a number, on its noun        amod  an adjective, on its noun

The names are those of Universal Dependencies, but for "sense", an object whose translation
depends on the verb.
"""

from dataclasses import dataclass

from mhsa_book.examples.language.grammar import Sentence
from mhsa_book.examples.language.words import AMBIGUOUS


@dataclass(frozen=True)
class Node:
    """A word in its tree; ``head`` is the place of the word that it depends on."""

    form: str
    upos: str
    head: int | None
    relation: str
    antecedent: None = None


@dataclass(frozen=True)
class Tree:
    """A sentence with its arcs, as ``mhsa_book.roles`` reads them.

    >>> from mhsa_book.examples.language import Sentence
    >>> for word in tree(Sentence.read("rolan ot meti balo")).words:
    ...     print(word.form, word.upos, word.head, word.relation)
    rolan VERB None root
    ot NUM 3 nummod
    meti ADJ 3 amod
    balo NOUN 0 sense
    """

    text: str
    words: tuple[Node, ...]


def tree(sentence: Sentence) -> Tree:
    """The arcs of a sentence; its words stand as the sentence says them.

    >>> from mhsa_book.examples import language
    >>> two = language.pairs(3)[1].sentence
    >>> [(word.form, word.relation) for word in tree(two).words[4:6]]
    [('sa', 'cc'), ('bogan', 'conj')]
    """
    words: list[Node] = []
    for clause in sentence.clauses:
        if words:
            words.append(Node(str(sentence.join), "CCONJ", len(words) + 1, "cc"))
        verb = len(words)
        words.append(Node(clause.verb, "VERB", 0 if verb else None, "conj" if verb else "root"))
        for phrase in clause.phrases:
            noun = len(words) + len(phrase.words) - 1
            words.append(Node(phrase.number, "NUM", noun, "nummod"))
            if phrase.adjective is not None:
                words.append(Node(phrase.adjective, "ADJ", noun, "amod"))
            relation = "sense" if phrase.noun in AMBIGUOUS else "obj"
            words.append(Node(phrase.noun, "NOUN", verb, relation))
    return Tree(" ".join(sentence.words), tuple(words))
