"""Three questions at once, asked by heads that are narrower than the answer.

A sequence is a table and eight questions. The table has 16 keys in random order, each with a
random bit. A question names one key, and its answer is three bits: those of this key and of the
next two. That takes three distributions per query, because a single one could only average the
three bits, and scores that tell 16 keys apart, which a narrow head finds hard.

The width may go into more or into wider heads; all three attentions have the same parameters.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.experiments.training import Batch, Layers, accuracy, fit
from mhsa_lib.variants.overlapped import OverlappedAttention

NAME = "overlapped"
QUESTION = "Do narrow heads answer more when they overlap?"
MEASURE = "share of right answers after 800 steps"

D_MODEL, N_KEYS, N_QUESTIONS, N_STEPS = 32, 16, 8, 800
ATTENTIONS = {
    "8 heads of 2, overlap 2": lambda: OverlappedAttention(D_MODEL, 8, 2, d_head=2),
    "8 heads of 3": lambda: MultiHeadAttention(D_MODEL, 8, d_head=3),
    "4 heads of 6": lambda: MultiHeadAttention(D_MODEL, 4, d_head=6),
}


def draw(generator: torch.Generator, batch: int = 32) -> Batch:
    """Tables and questions as ids, and the answers, 0 to 7, at the questions.

    >>> ids, answers = draw(torch.Generator().manual_seed(0), batch=1)
    >>> ids.shape, (answers != -100).sum().item()
    (torch.Size([1, 24]), 8)
    """
    order = torch.rand(batch, N_KEYS, generator=generator).argsort(dim=-1)
    bits = torch.randint(2, (batch, N_KEYS), generator=generator)
    asked = torch.randint(N_KEYS, (batch, N_QUESTIONS), generator=generator)
    table = 2 * order + bits.gather(1, order)
    return (
        torch.cat([table, 2 * N_KEYS + asked], dim=1),
        torch.cat([torch.full_like(table, -100), answer(bits, asked)], dim=1),
    )


def answer(bits: Tensor, asked: Tensor) -> Tensor:
    """The bits of the asked key and of the next two, as a number.

    >>> answer(torch.tensor([[1, 0, 1, 1]]), torch.tensor([[0, 1, 3]])).tolist()
    [[5, 6, 3]]
    """
    one, two, three = (bits.gather(1, (asked + step) % bits.shape[1]) for step in range(3))
    return one + 2 * two + 4 * three


def models() -> dict[str, Callable[[], Layers]]:
    """One layer of attention and no other, at equal parameters."""

    def build(attention: Callable[[], MultiHeadAttention]) -> Callable[[], Layers]:
        return lambda: Layers([attention()], 3 * N_KEYS, N_KEYS + N_QUESTIONS)

    return {name: build(attention) for name, attention in ATTENTIONS.items()}


def run(model: str, seed: int) -> float:
    """Train one of the models from this seed; its share of right answers."""
    torch.manual_seed(seed)
    layers = models()[model]()
    fit(layers, draw, N_STEPS, seed=seed)
    return accuracy(layers, draw, n_batches=16)
