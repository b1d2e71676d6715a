"""Train an encoder-decoder to translate between the two made-up languages.

Sentences are drawn in every step. The language is small, so that short ones come up again. The
first word of a translation is the speaker's choice and costs ``language.CHOICE`` at best; every
later word is decided, and costs nothing once it is known.
"""

import torch
from torch import Tensor, nn

from mhsa_book.examples import language
from mhsa_book.examples.language.grammar import LONGEST
from mhsa_book.experiments.training import Batch, fit
from mhsa_book.transformer import EncoderDecoder, loss, shifted

STEPS, BATCH, LEARNING_RATE = 1200, 64, 5e-3
"""Updates, sentences in each, and the highest rate of Adam."""

N_POSITIONS = LONGEST + 1
"""The longest sentence, and the word before it or behind it."""

UNSEEN = 2**20
"""Seeds of ``language.pairs`` below this one are never drawn in training."""


def untrained(seed: int) -> EncoderDecoder:
    """The model before training: 2 + 2 layers with 4 heads on 64 columns.

    >>> sum(parameter.numel() for parameter in untrained(seed=0).parameters())
    176512
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return EncoderDecoder(len(language.SOURCE), len(language.TARGET), N_POSITIONS)


def train(seed: int, n_steps: int = STEPS) -> tuple[EncoderDecoder, list[float]]:
    """A trained model, and its loss in nats a word at every step.

    >>> _, losses = train(seed=0, n_steps=3)
    >>> len(losses)
    3
    """
    model = untrained(seed)
    return model, fitted(model, seed, n_steps)


def fitted(model: EncoderDecoder, seed: int, n_steps: int = STEPS) -> list[float]:
    """The loss of every step of the training of a model, which is frozen then.

    >>> len(fitted(untrained(seed=1), seed=1, n_steps=2))
    2
    """
    losses = fit(
        model, draw, n_steps, seed=seed, learning_rate=LEARNING_RATE, loss=of_translations
    )
    model.requires_grad_(False)
    return losses


def draw(generator: torch.Generator) -> Batch:
    """Ids of sources and of targets, both (sentence, token).

    >>> source, target = draw(torch.Generator().manual_seed(0))
    >>> len(source), len(target)
    (64, 64)
    """
    seed = int(torch.randint(UNSEEN, 2**31, (), generator=generator))
    return language.batch(language.pairs(BATCH, seed))


def of_translations(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    """Mean loss in nats of every word of ``target``, when the words before it are given."""
    given, wanted = shifted(target)
    return loss(model(source, given), wanted)
