"""What the translator writes with heads off, and where they look: the twin of ``model.js``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.experiments.translation import Head, by_zero, without
from mhsa_book.experiments.translation.heads import Change
from mhsa_book.transformer import BOS, EncoderDecoder, Translation, greedy, recomputing
from mhsa_book.transformer.decoding import NextWord
from mhsa_book.widgets.translator_lab.weights import MODEL, means
from mhsa_lib.tracing import trace


def by_stored_mean(head: Head) -> Change:
    """The mean that travels to the page."""
    return torch.tensor(means()[head]).expand_as


INSTEAD = {"zero": by_zero, "mean": by_stored_mean}
"""What stands for a head that is off."""


def ids_of(sentence: str) -> Tensor:
    """A sentence of the source as a batch of one."""
    return torch.tensor([language.SOURCE.ids(sentence.split())])


def written(
    sentence: str, greeting: str = "", off: Sequence[Head] = (), instead: str = "zero"
) -> Translation:
    """A translation word by word, which begins with a greeting if one is given.

    >>> language.TARGET.words(written("rolan ot meti balo", "hoi").ids[0])
    ('hoi', 'mirru', 'mirru', 'nalesh', 'melo')
    """
    given = language.TARGET.ids(greeting.split())
    with without(MODEL(), off, INSTEAD[instead]):
        return greedy(MODEL(), ids_of(sentence), partial(_beginning, given))


def looks(
    head: Head, sentence: str, ids: Tensor, off: Sequence[Head] = (), instead: str = "zero"
) -> Tensor:
    """Weights (query, key) of a head while these ids of the target are written.

    >>> ids = written("rolan ot meti balo", "hoi").ids
    >>> looks(Head("cross-attention", 1, 0), "rolan ot meti balo", ids).shape
    torch.Size([6, 4])
    """
    given = torch.cat([torch.full_like(ids[:, :1], BOS), ids[:, :-1]], dim=-1)
    attention = MODEL().get_submodule(head.path)
    with torch.no_grad(), without(MODEL(), off, INSTEAD[instead]), trace(attention) as wires:
        MODEL()(ids_of(sentence), given)
    return wires["weights"][0, head.head]


@contextmanager
def _beginning(
    given: Sequence[int], model: EncoderDecoder, source: Tensor
) -> Iterator[NextWord]:
    """As ``recomputing``, but the first words are given."""
    with recomputing(model, source) as next_word:

        def logits(target: Tensor) -> Tensor:
            found = next_word(target)
            for word in given[target.shape[-1] - 1 :][:1]:
                found[..., word] = torch.inf
            return found

        yield logits
