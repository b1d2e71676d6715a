"""Words as vectors whose twelve columns have names, and two sentences that differ in one word.

Seven columns say what a word is, five where it stands: whether it is the first, and the hands
of two clocks.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

SENTENCES = (
    ("the", "animal", "avoided", "the", "street", "too", "tired"),
    ("the", "animal", "avoided", "the", "street", "too", "wide"),
)
"""What does the last word belong to: the animal, or the street?"""

KINDS = ("noun", "living", "place", "quality", "verb", "article", "degree", "start")
CLOCK = ("slow cos", "slow sin", "fast cos", "fast sin")
COLUMNS = KINDS + CLOCK
"""What each column of ``x``, and of ``y``, says."""

SLOW, FAST = 2 * math.pi / 8, 2 * math.pi * 3 / 8
"""What the hands turn from a word to the next: an eighth of a turn, and three eighths."""

VOCABULARY = {
    word: kinds.split()
    for kinds, words in {
        "article": "the a this",
        "noun living": "animal child dog bird",
        "noun place": "street river road field",
        "verb": "avoided crossed left",
        "degree": "too so very",
        "quality living": "tired hungry afraid",
        "quality place": "wide deep muddy",
    }.items()
    for word in words.split()
}
"""The columns that are 1 in the vector of a word."""


def meanings(words: Sequence[str]) -> Tensor:
    """What each word is, (len(words), 12): the row of its word in a table, wherever it stands.

    Raises ``ValueError`` for a word that is not in ``VOCABULARY``.

    >>> meanings(["animal"])[0, :3].tolist()  # noun, living, place
    [1.0, 1.0, 0.0]
    """
    unknown = [word for word in words if word not in VOCABULARY]
    if unknown:
        raise ValueError(
            f"No vector for {', '.join(map(repr, unknown))}; choose words from {[*VOCABULARY]}."
        )
    return torch.tensor(
        [[float(column in VOCABULARY[word]) for column in COLUMNS] for word in words]
    ).reshape(len(words), 12)


def positions(n: int) -> Tensor:
    """Where each of n words stands, (n, 12): the clock, and a mark on the first word.

    Raises ``ValueError`` beyond eight words, where the hands are where they began.

    >>> positions(2)[1, 8:].tolist() == positions(8)[1, 8:].tolist()
    True
    """
    if not 0 <= n <= 8:
        raise ValueError(f"{n} words; the clock tells 8 places apart, use 0 to 8 words.")
    place = torch.arange(n, dtype=torch.float64)
    hands = [hand(turn * place) for turn in (SLOW, FAST) for hand in (torch.cos, torch.sin)]
    x = torch.zeros(n, 12)
    x[:, 8:] = torch.stack(hands, dim=1).round(decimals=6) + 0.0  # no -0.00
    x[:1, COLUMNS.index("start")] = 1
    return x


def embed(sentence: str) -> Tensor:
    """The vectors of a sentence of up to eight words, (query, 12): what each is and where.

    >>> embed("the child crossed the river so hungry").shape
    torch.Size([7, 12])
    """
    words = sentence.split()
    return meanings(words) + positions(len(words))


def sentences() -> Tensor:
    """Both sentences of the running example, (2, 7, 12).

    >>> x = sentences()
    >>> (x[0] != x[1]).nonzero().tolist()  # they differ in one word: living, or a place
    [[6, 1], [6, 2]]
    """
    return torch.stack([embed(" ".join(words)) for words in SENTENCES])
