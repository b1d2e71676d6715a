"""The trained translator as it travels to a page: its weights, and what stands for a head.

It is stored in half precision, and so it travels: nothing is lost. With 12 bits a number and a
scale for each row it would be a quarter smaller, but 12 of 2,400 translations with one head off
came out otherwise; with 8 bits, half the size, 76 did, and 7 of 200 with all heads on.
"""

from functools import cache

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.experiments.translation import Head, head_outputs, heads_of
from mhsa_book.models.translator import translator
from mhsa_book.widgets.assets import Asset

MODEL = cache(translator)
N_PAIRS = 256
"""Sentences over which the mean of a head is taken."""


@cache
def asset() -> Asset:
    """All weights in half precision, one matrix after the other, as ``layout`` lists them.

    >>> len(asset().data)
    353024
    """
    values = MODEL().state_dict().values()
    return Asset("translator", b"".join(map(_bytes, values)))


def _bytes(value: Tensor) -> bytes:
    return value.half().cpu().numpy().tobytes()


def layout() -> list[list[str | int]]:
    """[name, rows, columns] of every matrix; a vector is one row.

    >>> layout()[0], layout()[4]
    (['embed_source.tokens.weight', 36, 64], ['encoder.0.self_attention_norm.weight', 1, 64])
    """
    matrices = {name: torch.atleast_2d(w) for name, w in MODEL().state_dict().items()}
    return [[name, *matrix.shape] for name, matrix in matrices.items()]


@cache
def means() -> dict[Head, list[float]]:
    """What every head writes on average, its ``z``: four decimals, the same on every machine.

    >>> len(means()), len(next(iter(means().values())))
    (24, 16)
    """
    found = head_outputs(MODEL(), language.pairs(N_PAIRS))
    return {
        head: [round(value, 4) for value in found[head].mean(dim=0).tolist()]
        for head in heads_of(MODEL())
    }
