"""Words as ids, and pairs as batches for the model of ``mhsa_book.transformer``."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from mhsa_book.examples.language.translation import TASKS, Pair
from mhsa_book.examples.language.words import SOURCE as SOURCE_WORDS
from mhsa_book.examples.language.words import TARGET as TARGET_WORDS
from mhsa_book.transformer import BOS, EOS, PAD, padded

SIGNS = {PAD: "·", BOS: "▷", EOS: "◁"}
"""How the ids that are no words are written in a picture."""


class Vocabulary:
    """The ids of a language: first the three that are no words, then its words in order.

    >>> SOURCE.ids(["balo", "rolan"]), len(SOURCE)
    ([11, 25], 36)
    >>> SOURCE.words([11, 25, 0])
    ('balo', 'rolan')
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens = (*SIGNS.values(), *words)

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, words: Iterable[str]) -> list[int]:
        """Ids of words; ``ValueError`` for one that is not in the language."""
        known = {word: i for i, word in enumerate(self.tokens) if i not in SIGNS}
        given = [*words]
        if unknown := [word for word in given if word not in known]:
            raise ValueError(f"{unknown[0]!r} is no word of this language; it has {[*known]}.")
        return [known[word] for word in given]

    def words(self, ids: Iterable[int] | Tensor) -> tuple[str, ...]:
        """Words of ids, up to the first ``EOS``; ``PAD`` and ``BOS`` are left out."""
        said = []
        for i in map(int, ids):
            if i == EOS:
                break
            if i not in SIGNS:
                said.append(self.tokens[i])
        return tuple(said)


SOURCE, TARGET = Vocabulary(SOURCE_WORDS), Vocabulary(TARGET_WORDS)
"""The two languages of the book."""


def batch(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Ids of the sources and of the targets, both (sentence, token); targets end with ``EOS``.

    >>> from mhsa_book.examples.language.drawing import pairs
    >>> source, target = batch(pairs(64))
    >>> source.shape, target.shape
    (torch.Size([64, 12]), torch.Size([64, 13]))
    """
    source = padded([SOURCE.ids(pair.source) for pair in pairs])
    return source, padded([[*TARGET.ids(pair.target), EOS] for pair in pairs])


def places(pairs: Sequence[Pair], task: str) -> Tensor:
    """Where a batch tests a task, True at those words, (sentence, token) as its targets.

    Raises ``ValueError`` for an unknown task.

    >>> from mhsa_book.examples.language.translation import translations
    >>> places(translations("rolan ot meti balo")[:1], "count").tolist()
    [[False, False, True, True, False, False]]
    """
    if task not in TASKS:
        raise ValueError(f"{task!r} is no task; choose from {[*TASKS]}.")
    longest = max(len(pair.words) for pair in pairs) + 1
    rows = [[task in word.tasks for word in pair.words] for pair in pairs]
    return torch.tensor([row + [False] * (longest - len(row)) for row in rows])
