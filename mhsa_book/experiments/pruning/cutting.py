"""A model with few heads, three ways: as it was cut, fine-tuned after that, and never whole.

Every way at a level is trained on the same batches, and all are tested on the same pairs.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import torch

from mhsa_book.examples import language
from mhsa_book.experiments.training import Batch, Draw, fit
from mhsa_book.experiments.translation import by_task, learning, nats
from mhsa_book.transformer import EncoderDecoder

DIGITS = 6
"""Behind the point, of every loss that is kept."""

CUT_SEEDS = 1_000_000
"""Added to a seed for the batches after a cut, which are not those of the first training."""


def tuned(
    model: EncoderDecoder,
    seed: int,
    n_steps: int,
    learning_rate: float,
    draw: Draw | None = None,
) -> EncoderDecoder:
    """The same model after some more steps, in evaluation mode.

    The rate rises for a twentieth of the steps and falls to 0 after that. ``draw`` gives the
    batches in place of those of the seed.

    >>> model = learning.untrained(seed=0)
    >>> tuned(model, 0, 2, 1e-3) is model
    True
    """
    draw = learning.draw if draw is None else draw
    loss = learning.of_translations
    fit(model, draw, n_steps, seed=CUT_SEEDS + seed, learning_rate=learning_rate, loss=loss)
    return model


def again(batches: Sequence[Batch]) -> Draw:
    """Draws these batches, one after the other, whatever the generator.

    >>> draw = again([(torch.zeros(1), torch.ones(1))])
    >>> draw(torch.Generator())
    (tensor([0.]), tensor([1.]))
    """
    left: Iterator[Batch] = iter(batches)
    return lambda generator: next(left)


@cache
def batches(seed: int, n_steps: int) -> tuple[Batch, ...]:
    """Those that ``tuned`` draws of itself for that seed: drawn once for all ways of a level.

    >>> len(batches(0, 2))
    2
    """
    generator = torch.Generator().manual_seed(CUT_SEEDS + seed)
    return tuple(learning.draw(generator) for _ in range(n_steps))


def losses(model: EncoderDecoder, n: int) -> list[float]:
    """Nats a word of each of ``ASKED``, on ``n`` pairs that no training draws.

    >>> len(losses(learning.untrained(seed=0), 64))
    5
    """
    return [round(x, DIGITS) for x in by_task(nats(model, _test(n)), _test(n)).values()]


@cache
def _test(n: int) -> tuple[language.Pair, ...]:
    return tuple(language.pairs(n, seed=1))
