"""A language model under another mask than its own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_lib.masks import Predicate
from mhsa_lib.variants.grouped import GroupedQueryAttention


@contextmanager
def under_mask(lm: LanguageModel, mask: Predicate | Tensor | None) -> Iterator[None]:
    """Put a mask in the place of the causal one, in all layers, while the block runs.

    ``mask`` says who may attend to whom: a rule, or booleans (query, key) with True for *may
    attend*. With None every token attends to every other, later ones included. The model was
    trained under its own mask, so it has to make do with what it learned there. Raises
    ``ValueError`` in a call where the mask does not fit the text, and ``generate`` needs
    ``cache=False``.

    Examples
    --------
    >>> from mhsa_book import models
    >>> lm = models.load("SmolLM2-135M")
    >>> with under_mask(lm, None):
    ...     lm.logits("Paris is big").argmax(dim=-1).shape  # its rows have read what follows
    torch.Size([3])
    """
    with ExitStack() as stack:
        for layer in range(lm.n_layers):
            under_it = partial(_attend, lm.attention(layer), mask)
            stack.enter_context(lm.replace(layer, under_it))
        yield


def _attend(
    attention: GroupedQueryAttention, rule: Predicate | Tensor | None, x: Tensor, mask: Tensor
) -> Tensor:
    """Attend under ``rule``; ``mask`` is the model's own, which is left out."""
    return attention(x, mask=rule)
