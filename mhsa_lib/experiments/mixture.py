"""Every token says which earlier letter it wants: does choosing heads per token help?

A token is a letter and a distance from 1 to 6; its target is the letter that many places before
it. Six kinds of tokens thus need six ways of looking, and what a head brings for one kind is
noise for the others. The mixture's router costs parameters, so plain attention gets five more
columns in its feed-forward part.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.experiments.training import Batch, Layers, accuracy, fit
from mhsa_lib.variants.mixture import MixtureOfHeadAttention, balance_loss

NAME = "mixture"
QUESTION = "Six kinds of tokens, six distances: does a token gain by choosing its heads?"
MEASURE = "share of letters found"

DISTANCES, LETTERS, LENGTH = 6, 8, 16
N_STEPS, LEARNING_RATE = 800, 1e-2
WEIGHT = 0.01
"""Of the balance loss, as in the paper."""

HALF = {"n_shared": 2, "n_active": 2}
ALL = {"n_shared": 2, "n_active": 6}


def models() -> dict[str, Callable[[], Layers]]:
    """Eight heads each: plain, half of them active, with and without balance, all weighed."""
    return {
        "plain": lambda: _layers(MultiHeadAttention(32, 8), d_hidden=37),
        "mixture, 4 of 8 heads": lambda: _mixture(**HALF),
        "the same without balance loss": lambda: _mixture(**HALF),
        "mixture, 8 of 8 heads": lambda: _mixture(**ALL),
    }


def run(model: str, seed: int) -> float:
    """Train one model; the share of letters it finds in new sequences."""
    return accuracy(trained(model, seed), draw)


def trained(
    model: str, seed: int, n_steps: int = N_STEPS, dtype: torch.dtype = torch.float32
) -> Layers:
    """The model after its training, in evaluation mode.

    In float64 another order of additions cannot drive a training apart: the chapter, which
    prints what single heads do, gets the same numbers on every machine.
    """
    torch.manual_seed(seed)
    layers = models()[model]().to(dtype)
    extra = partial(_balance, layers) if model.startswith("mixture") else None
    fit(layers, draw, n_steps, seed=seed, learning_rate=LEARNING_RATE, extra=extra)
    return layers


def draw(generator: torch.Generator, n: int = 32) -> Batch:
    """Ids and targets (sequence, token); an id is letter + LETTERS · (distance - 1).

    >>> ids, targets = draw(torch.Generator().manual_seed(0))
    >>> distance, letter = ids[0] // LETTERS + 1, ids[0] % LETTERS
    >>> int(targets[0, 9]) == int(letter[9 - distance[9]])
    True
    """
    letters = torch.randint(LETTERS, (n, LENGTH), generator=generator)
    distances = torch.randint(1, DISTANCES + 1, (n, LENGTH), generator=generator)
    source = torch.arange(LENGTH) - distances
    targets = letters.gather(-1, source.clamp_min(0)).masked_fill(source < 0, -100)
    return (distances - 1) * LETTERS + letters, targets


def spell(ids: Tensor, targets: Tensor) -> list[str]:
    """Every token of a sequence with the letter it wants.

    >>> spell(torch.tensor([0, 2, 9]), torch.tensor([-100, 0, 0]))
    ['a1→·', 'c1→a', 'b2→a']
    """
    names = "abcdefgh·"
    return [
        f"{names[token % LETTERS]}{token // LETTERS + 1}→{names[max(letter, -1)]}"
        for token, letter in zip(ids.tolist(), targets.tolist(), strict=True)
    ]


def _mixture(n_shared: int, n_active: int) -> Layers:
    return _layers(MixtureOfHeadAttention(32, 8, n_shared, n_active), d_hidden=32)


def _layers(attention: Any, d_hidden: int) -> Layers:
    return Layers([attention], DISTANCES * LETTERS, LENGTH, d_hidden=d_hidden)


def _balance(layers: Layers) -> Tensor:
    return WEIGHT * balance_loss(layers)
