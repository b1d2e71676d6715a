"""From word pieces to words: BERT cuts words into pieces, annotation is about whole words.

Attention to a word is the sum over its pieces, attention from it the mean over them, as Clark
et al. have it. ``[CLS]`` and ``[SEP]`` belong to no word, so they drop out, and a row sums to
less than 1.

Source: Clark et al., "What Does BERT Look At?", section 4.1, arXiv 1906.04341.
"""

import unicodedata
from collections.abc import Sequence

import torch
from torch import Tensor

SPECIAL = ("[CLS]", "[SEP]")
"""Tokens that belong to no word."""


def aligned(forms: Sequence[str], tokens: Sequence[str]) -> Tensor:
    """1 where a piece belongs to a word, else 0: (word, piece); special tokens belong to none.

    ``forms`` are the words as they are annotated, ``tokens`` what an uncased BERT made of the
    same text. Raises ``ValueError`` where they do not spell the same letters, or where a piece
    reaches over the end of a word.

    >>> aligned(["The", "yeti"], ["[CLS]", "the", "ye", "##ti", "[SEP]"])
    tensor([[0., 1., 0., 0., 0.],
            [0., 0., 1., 1., 0.]])
    """
    pieces = [(i, token) for i, token in enumerate(tokens) if token not in SPECIAL]
    table = torch.zeros(len(forms), len(tokens))
    for word, form in enumerate(forms):
        wanted = left = _uncased(form)
        while left and pieces:
            i, token = pieces.pop(0)
            letters = token.removeprefix("##")
            if not left.startswith(letters):
                raise ValueError(
                    f"word {word}, {form!r}, does not fit: the tokenizer has {token!r} where "
                    f"{left!r} should follow; annotate the words of this text, and cut none "
                    f"inside a piece."
                )
            table[word, i], left = 1, left.removeprefix(letters)
        if left or not wanted:
            raise ValueError(
                f"word {word}, {form!r}, has no piece of its own among {[*tokens]}; annotate "
                f"the words of this text, all of them."
            )
    if pieces:
        raise ValueError(
            f"no word is left for the piece {pieces[0][1]!r}, after {[*forms]}; annotate the "
            f"words of this text, all of them."
        )
    return table


def to_words(weights: Tensor, belongs: Tensor) -> Tensor:
    """Attention of words to words, (…, word, word), from that of pieces, (…, query, key).

    ``belongs`` is what ``aligned`` returns.

    >>> pieces = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.4, 0.5], [0.3, 0.3, 0.4]])
    >>> to_words(pieces, aligned(["a", "yeti"], ["a", "ye", "##ti"]))
    tensor([[0.5000, 0.5000],
            [0.2000, 0.8000]])
    """
    n_query, n_key = weights.shape[-2:]
    if not n_query == n_key == belongs.shape[-1]:
        raise ValueError(
            f"weights of {n_query} queries and {n_key} keys, but {belongs.shape[-1]} pieces; "
            f"align the tokens that attend() gave with these weights."
        )
    belongs = belongs.to(weights)
    return belongs / belongs.sum(dim=-1, keepdim=True) @ weights @ belongs.mT


def _uncased(form: str) -> str:
    """Small letters without accents, as an uncased tokenizer reads them."""
    apart = unicodedata.normalize("NFD", form.lower())
    return "".join(c for c in apart if unicodedata.category(c) != "Mn" and not c.isspace())
