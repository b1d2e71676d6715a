"""What a head rests on: the share of its weight on ``[CLS]``, ``[SEP]``, punctuation and words.

Source: Clark et al., "What Does BERT Look At?", section 3.2, arXiv 1906.04341. Their
punctuation is "." and ","; here it is every token without a letter or a digit.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mhsa_book.roles.reading import Reading

KINDS = ("[CLS]", "[SEP]", "punctuation", "words")
"""What a token can be, each to be rested on."""


def kind(token: str) -> str:
    """Which of ``KINDS`` a token is.

    >>> [kind(token) for token in ("[CLS]", "the", "##ti", ",")]
    ['[CLS]', 'words', 'words', 'punctuation']
    """
    if token in KINDS[:2]:
        return token
    return "words" if any(c.isalnum() for c in token) else "punctuation"


def shares(readings: Sequence[Reading]) -> dict[str, Tensor]:
    """Mean weight of a query on each of ``KINDS``, (layer, head); the four sum to 1.

    The mean is over the queries of a sentence, ``[CLS]`` and ``[SEP]`` too, and then over
    sentences.
    """
    if not readings:
        raise ValueError("readings is empty; pass those of at least one sentence.")
    found = {}
    for each in KINDS:
        per_sentence = []
        for reading in readings:
            on = torch.tensor([kind(token) == each for token in reading.tokens])
            per_sentence.append(reading.weights[..., on].sum(dim=-1).mean(dim=-1))
        found[each] = torch.stack(per_sentence).mean(dim=0)
    return found
