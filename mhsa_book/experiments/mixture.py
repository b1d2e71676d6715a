"""Every token says which earlier letter it wants: does choosing heads per token help?

A token is a letter and a distance from 1 to 6; its target is the letter that many places before
it. Six kinds of tokens thus need six ways of looking, and what a head brings for one kind is
noise for the others. The mixture's router costs parameters and FLOPs, and five more columns in
the feed-forward part of plain attention are as many of both.

Before the predictions were written, seed 100 was looked at with one learning rate: plain
attention came to 1.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mhsa_book import costs
from mhsa_book.costs import variant_costs
from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.experiments.training import Batch, Layers, accuracy, fit, parameters_built_by
from mhsa_book.results.paired import Measure
from mhsa_book.results.runs import Setting
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.variants.mixture import MixtureOfHeadAttention, balance_loss

D_MODEL, N_HEADS, D_HIDDEN, ROUTER = 32, 8, 32, 5
"""The router is worth five hidden columns of the feed-forward part."""

DISTANCES, LETTERS, LENGTH = 6, 8, 16
N_STEPS, LEARNING_RATE = 800, 1e-2
WEIGHT = 0.01
"""Of the balance loss, as in the paper."""

PLAIN, HALF, ALL = "plain", "mixture, 4 of 8 heads", "mixture, 8 of 8 heads"
UNBALANCED = "the same without balance loss"
TWIN = f"{PLAIN}, again"


def models() -> dict[str, Callable[[], Layers]]:
    """Eight heads each: plain, half of them active, with and without balance, all weighed."""
    return {
        PLAIN: lambda: _layers(MultiHeadAttention(D_MODEL, N_HEADS), D_HIDDEN + ROUTER),
        HALF: lambda: _mixture(n_active=2),
        UNBALANCED: lambda: _mixture(n_active=2),
        ALL: lambda: _mixture(n_active=6),
    }


def trained(
    model: str, seed: int, n_steps: int = N_STEPS, dtype: torch.dtype = torch.float32
) -> Layers:
    """The model after its training, in evaluation mode.

    In float64 another order of additions cannot drive a training apart: the chapter, which
    prints what single heads do, gets the same numbers on every machine.
    """
    torch.manual_seed(seed)
    layers = models()[model]().to(dtype)
    extra = partial(_balance, layers) if model in (HALF, ALL) else None
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


def _mixture(n_active: int) -> Layers:
    return _layers(MixtureOfHeadAttention(D_MODEL, N_HEADS, 2, n_active), D_HIDDEN)


def _layers(attention: Any, d_hidden: int) -> Layers:
    return Layers([attention], DISTANCES * LETTERS, LENGTH, d_hidden=d_hidden)


def _balance(layers: Any) -> Tensor:
    return WEIGHT * balance_loss(layers)


def _arm(model: str) -> Setup:
    build = models()[model]
    attention = (
        costs.flops(LENGTH, D_MODEL, N_HEADS)
        if model == PLAIN
        else variant_costs.mixture(D_MODEL, N_HEADS, 2, n=LENGTH).flops
    )
    d_hidden = D_HIDDEN + ROUTER * (model == PLAIN)
    settings: dict[str, Setting] = {
        "parameters": parameters_built_by(build),
        "FLOPs of a sequence": sum(attention.values()) + 4 * LENGTH * D_MODEL * d_hidden,
    }
    return Setup(build, draw, settings, extra=_balance if model in (HALF, ALL) else None)


ARMS = {name: _arm(name) for name in (PLAIN, HALF, UNBALANCED, ALL)}

EXPERIMENT = Experiment(
    name="mixture",
    question="Six kinds of tokens, six distances: does a token gain by choosing its heads?",
    measure=Measure("share of letters found"),
    score=accuracy,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[PLAIN], anew=ANEW)},
    floor=(PLAIN, TWIN),
    questions=(
        Question(HALF, PLAIN, "steps"),
        Question(ALL, HALF, "steps"),
        Question(UNBALANCED, HALF, "steps"),
        Question(HALF, PLAIN, margin=0.02),
        Question(ALL, HALF, margin=0.02),
        Question(UNBALANCED, HALF, margin=0.02),
    ),
    predictions=(
        "Weighing heads makes learning faster: mixtures need fewer steps than plain heads.",
        "Skipping half of the heads does not: with all of them a mixture needs no more steps.",
        "Without the balance loss it takes more steps, and some seeds do not arrive.",
        "On the plateau plain heads and both mixtures find all letters, the same within 0.02.",
    ),
    n_steps=3200,
    every=80,
)
