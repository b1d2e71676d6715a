"""Random words, and then the same words again: what only the text itself can say.

Nothing that a language model has learned tells it which of thousands of words comes next, the
first time. The second time it can be looked up. Each word is one token, so that word and token
have the same places.

Source: Olsson et al., "In-context Learning and Induction Heads", arXiv 2209.11895.
"""

import torch
from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_lib import checks

SHORTEST = 5
"""Letters of the shortest word that is drawn; shorter tokens are often parts of words."""


def words(lm: LanguageModel, n: int, seed: int) -> list[str]:
    """Draw ``n`` words of small letters, no two alike, each one token with a space in front.

    >>> from mhsa_book import models
    >>> drawn = words(models.load("SmolLM2-135M"), 3, seed=0)
    >>> len({*drawn}), all(word.startswith(" ") for word in drawn)
    (3, True)
    """
    checks.positive(n=n)
    known = [token for token in lm.vocabulary() if _is_word(token)]
    if n > len(known):
        raise ValueError(f"n={n} words; {lm.name} has {len(known)} of them.")
    order = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed))
    return [known[i] for i in order[:n].tolist()]


def twice(lm: LanguageModel, seed: int, n: int = 40) -> str:
    """Return ``n`` words that are drawn, and the same again, as one text."""
    return "".join(words(lm, n, seed) * 2)


def losses(lm: LanguageModel, text: str) -> Tensor:
    """Return the surprise of every token but the first, −log of its probability, in nats."""
    chances = lm.logits(text)[:-1].log_softmax(dim=-1)
    ids = torch.tensor(lm.ids(text)[1:], device=chances.device)
    return -chances.gather(1, ids[:, None])[:, 0]


def _is_word(token: str) -> bool:
    letters = token.removeprefix(" ")
    is_plain = letters.isascii() and letters.isalpha() and letters.islower()
    return token.startswith(" ") and is_plain and len(letters) >= SHORTEST
