"""What a language model says next, as one line of text."""

from mhsa_book.models.language_model import LanguageModel


def next_words(lm: LanguageModel, text: str, k: int = 1) -> str:
    """Return the ``k`` likeliest next tokens, each with its probability, as a line to print.

    >>> from mhsa_book import models
    >>> next_words(models.load("SmolLM2-135M"), "The capital of France is", k=2)
    "' Paris' 0.77, ' the' 0.06"
    """
    return ", ".join(f"{token!r} {p:.2f}" for token, p in lm.next(text, k))
