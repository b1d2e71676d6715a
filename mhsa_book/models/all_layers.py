"""Change a wire in every layer of a language model at once."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from mhsa_book.models.language_model import LanguageModel
from mhsa_lib.tracing.editing import Change, edit


@contextmanager
def edit_layers(lm: LanguageModel, wire: str, change: Change) -> Iterator[None]:
    """Replace a wire by ``change(value)`` in the attention of every layer, as ``edit`` does.

    All methods of the model work inside the block and see the changed wire. Raises what
    ``edit`` raises.

    Examples
    --------
    >>> import torch
    >>> from mhsa_book import models
    >>> lm = models.load("SmolLM2-135M")
    >>> with edit_layers(lm, "z", torch.zeros_like):
    ...     lm.heads("Paris is big").abs().max().item()
    0.0
    """
    with ExitStack() as stack:
        for layer in range(lm.n_layers):
            stack.enter_context(edit(lm.attention(layer), wire, change))
        yield
