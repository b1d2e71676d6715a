"""How long a forward pass takes with closed gates, and with the heads gone.

A closed gate multiplies a head with 0 after it was computed, so nothing is saved; a head that
is removed is not computed. What is left, embedding, feed-forward parts and logits, is the same.
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch

from mhsa_book.examples import language
from mhsa_book.profiling.timing import fastest, one_core
from mhsa_book.transformer import EncoderDecoder, shifted


def ratios(
    whole: EncoderDecoder,
    others: Mapping[str, EncoderDecoder],
    n_pairs: int = 64,
    budget: float = 1.5,
) -> dict[str, float]:
    """The time of a forward pass of each of the others, as a share of the whole's.

    On one core, the shortest run of each, in turns; ``budget`` seconds in all.

    >>> from mhsa_book.experiments.translation.learning import untrained
    >>> [*ratios(untrained(seed=0), {"the same": untrained(seed=0)}, n_pairs=4, budget=0.0)]
    ['the same']
    """
    source, target = language.batch(language.pairs(n_pairs, seed=1))
    given, _ = shifted(target)
    calls: list[Callable[[], object]] = [
        partial(model, source, given) for model in (whole, *others.values())
    ]
    with torch.no_grad(), one_core():
        first, *rest = fastest(calls, budget=budget)
    return {name: round(seconds / first, 4) for name, seconds in zip(others, rest, strict=True)}
