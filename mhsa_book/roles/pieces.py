"""A language model reads annotated sentences: from byte pairs to words, and who can look back.

A decoder sees no later word, so of two words that an arc joins, the later one has to look at
the earlier one, whichever of them depends on the other. And its first token is a sink for many
heads, as ``[CLS]`` is in an encoder. So a line break stands in front of every sentence, which
belongs to no word and drops out.

Source: Clark et al., "What Does BERT Look At?", section 4.1, arXiv 1906.04341 (from pieces to
words); Xiao et al., "Efficient Streaming Language Models with Attention Sinks", arXiv
2309.17453.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from mhsa_book.roles.arcs import Arcs
from mhsa_book.roles.reading import Reading, Sentence

BEFORE = "\n"
"""What stands in front of every sentence."""


def aligned_pairs(forms: Sequence[str], tokens: Sequence[str], n_before: int = 0) -> Tensor:
    r"""Return 1 where a token belongs to a word, else 0: (word, token).

    ``tokens`` are spelled with the spaces in front of them. The first ``n_before`` belong to no
    word. Raises ``ValueError`` where the tokens spell something else, or where one of them
    reaches over the end of a word.

    >>> aligned_pairs(["The", "yeti", "."], ["\n", "The", " y", "eti", "."], n_before=1)
    tensor([[0., 1., 0., 0., 0.],
            [0., 0., 1., 1., 0.],
            [0., 0., 0., 0., 1.]])
    """
    table = torch.zeros(len(forms), len(tokens))
    word, left = -1, ""
    for i, token in enumerate(tokens[n_before:], start=n_before):
        letters = token.strip()
        if not left and word + 1 < len(forms):
            word, left = word + 1, forms[word + 1]
        if not letters or not left.startswith(letters):
            raise ValueError(
                f"token {i}, {token!r}, does not fit where {left!r} should follow; annotate "
                f"the words of this text, and cut none inside a token."
            )
        table[word, i], left = 1, left.removeprefix(letters)
    if left or word + 1 < len(forms):
        raise ValueError(
            f"the tokens end before word {word + (not left)} of {[*forms]}; annotate the words "
            f"of this text, all of them."
        )
    return table


def read_back(lm: Any, sentences: Iterable[Sentence], before: str = BEFORE) -> list[Reading]:
    """Let a language model read every sentence, each with ``before`` in front of it.

    Raises ``ValueError`` for a sentence whose words are not those of its text, and for an empty
    ``before``, because then the first word would be the sink.
    """
    if not before:
        raise ValueError("before is empty; put something in front, so that no word is first.")
    readings, n_before, sentences = [], len(lm.tokens(before)), [*sentences]
    each = lm.attend_each([before + sentence.text for sentence in sentences])
    for sentence, (tokens, weights) in zip(sentences, each, strict=True):
        belongs = aligned_pairs([word.form for word in sentence.words], tokens, n_before)
        readings.append(Reading(tokens, weights, belongs))
    return readings


def backwards(arcs: Arcs) -> Arcs:
    """The same arcs, in which the later word looks at the earlier one.

    >>> arcs = Arcs(*torch.tensor([[0, 0], [1, 4], [3, 2], [5, 5]]))
    >>> backwards(arcs).word.tolist(), backwards(arcs).partner.tolist()
    ([3, 4], [1, 2])
    """
    later = torch.maximum(arcs.word, arcs.partner)
    return arcs._replace(word=later, partner=torch.minimum(arcs.word, arcs.partner))
