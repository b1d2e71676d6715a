"""The first half of a novel as numbers: a character is a number, and a text a tensor.

*Pride and Prejudice*, chapters 1 to 29, in the public domain; where it comes from is said in
``README.md`` beside this file.
"""

import re
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

ALPHABET = " !\"',-.;?abcdefghijklmnopqrstuvwxyz"
"""What is left of the text: small letters, a space for any other character, and these signs."""

HELD_OUT = 30_000
"""Characters at the end, which are never trained on."""


@cache
def text() -> str:
    """The chapters in one line, in the characters of ``ALPHABET``.

    >>> text()[:46]
    'chapter it is a truth universally acknowledged'
    """
    known = re.sub(f"[^{re.escape(ALPHABET)}]", " ", _printed().lower())
    return re.sub(" +", " ", known)


def paragraphs() -> list[str]:
    """The paragraphs as they are printed, each in one line; headings are among them.

    >>> paragraphs()[1][:48]
    'It is a truth universally acknowledged, that a s'
    """
    return [" ".join(lines.split()) for lines in _printed().split("\n\n") if lines.strip()]


def _printed() -> str:
    return Path(__file__).with_name("pride_and_prejudice.txt").read_text(encoding="utf-8")


@cache
def ids() -> tuple[Tensor, Tensor]:
    """Numbers of the characters, (n,): to train on, and the last ``HELD_OUT``.

    >>> train, test = ids()
    >>> len(test), "".join(ALPHABET[i] for i in train[8:13])
    (30000, 'it is')
    """
    all_of_it = torch.tensor([ALPHABET.index(letter) for letter in text()])
    return all_of_it[:-HELD_OUT], all_of_it[-HELD_OUT:]


def windows(of: Tensor, starts: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Pieces (n, length) of a text, and the character after each of theirs.

    >>> inputs, targets = windows(torch.arange(9), torch.tensor([0, 4]), 3)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1, 2], [4, 5, 6]], [[1, 2, 3], [5, 6, 7]])
    """
    pieces = of[starts[:, None] + torch.arange(length + 1)]
    return pieces[:, :-1], pieces[:, 1:]
