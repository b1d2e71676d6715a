"""Which attention a word needs: what a model without it sees, and two cases it takes for one.

A model that is given the same and shall say something else is wrong in one of the two cases,
whatever it has learned. That settles two claims: without cross-attention a decoder sees no
source; without its self-attention it sees the source and the position, but no word except the
last.

The encoder's self-attention is another matter. A decoder that looks at all bare words can find
out whatever an encoder could, if it has layers and heads enough, so no pair of sentences proves
that the encoder is needed. What is settled here is less: who looks at the words that are
translated, as an aligner of words does, and finds them bare, cannot know their sense.
"""

from collections.abc import Hashable, Iterable

from mhsa_book.examples.language.drawing import pairs
from mhsa_book.examples.language.grammar import Sentence
from mhsa_book.examples.language.translation import TASKS, Pair, translate
from mhsa_book.examples.language.words import GREETINGS

ATTENTIONS = tuple(dict.fromkeys(TASKS.values()))
"""The three uses of attention in an encoder-decoder."""


def visible(pair: Pair, place: int, without: str) -> Hashable:
    """What a model without that attention knows when it shall say the word at ``place``.

    ``without`` is one of ``ATTENTIONS``: without cross-attention, the words said so far;
    without the decoder's self-attention, the source, the place and the last word; without the
    encoder's, the words said so far, and the source words that are translated, bare, with their
    positions.

    >>> from mhsa_book.examples.language.translation import translations
    >>> pair = translations("rolan ot meti balo")[0]
    >>> visible(pair, 1, "encoder self-attention")
    (('hai',), ((3, 'balo'),))
    >>> visible(pair, 4, "decoder self-attention")
    (('rolan', 'ot', 'meti', 'balo'), 4, ('nalesh',))
    """
    said = pair.target[:place]
    if without == "cross-attention":
        return said
    if without == "decoder self-attention":
        return pair.source, place, said[-1:]
    if without == "encoder self-attention":
        return said, tuple((at, pair.source[at]) for at in sorted(pair.words[place].aligned))
    raise ValueError(f"{without!r} is no attention of the model; choose from {ATTENTIONS}.")


def counterexample(
    task: str, sentences: Iterable[Sentence] | None = None
) -> tuple[tuple[Pair, int], tuple[Pair, int]]:
    """Two pairs, and a place in each, that look the same without the attention for a task.

    The right words at the two places differ, and both test that task. The search goes through
    all translations of the sentences ``sentences``, 500 drawn ones when not given. Raises
    ``ValueError`` for an unknown task, or if there is none.

    >>> for pair, place in counterexample("agreement"):
    ...     print(place, pair)
    4 tekan ot goti sako → hai nolu nolu denesh krada
    4 tekan ot goti sako → hoi nolu nolu denesh krado
    """
    if task not in TASKS:
        raise ValueError(f"{task!r} is no task; choose from {[*TASKS]}.")
    if sentences is None:
        sentences = (pair.sentence for pair in pairs(500))
    known: dict[Hashable, tuple[Pair, int]] = {}
    for sentence in sentences:
        for pair in (translate(sentence, greeting) for greeting in GREETINGS):
            for place, word in enumerate(pair.words):
                if task not in word.tasks:
                    continue
                other, at = known.setdefault(visible(pair, place, TASKS[task]), (pair, place))
                if other.words[at].text != word.text:
                    return (other, at), (pair, place)
    raise ValueError(f"no two of these sentences show that {task!r} needs {TASKS[task]}.")
