"""Do heads that compare on the same thing learn more when they share queries and keys?

Sixteen symbols lie in each of four blocks, every time with another bit. A query names the
symbol to look up in each block and must answer four bits, so every head has to find a symbol in
a block of its own. "One symbol": the query names the same symbol four times; one comparison,
shared by all heads, with another preference for blocks in each, is enough. "Four symbols": each
block is asked about another one, so there is little to share. Plain heads compare in 6 columns
each; the collaborative ones have 21 together, for as many parameters.

Tokens are given as features (symbols and blocks one-hot), so that only the attention and a
linear readout are learned.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.experiments import training
from mhsa_lib.variants.collaborative import CollaborativeAttention

NAME = "collaborative"
QUESTION = "Do heads that compare on the same thing gain from sharing it?"
MEASURE = "share of bits answered rightly"

BLOCKS, SYMBOLS = 4, 16
D_MODEL = BLOCKS * SYMBOLS + BLOCKS + 2  # a query's symbols; block, bit, and a constant
STEPS, BATCH, LEARNING_RATE = 400, 16, 0.01


class Lookup(nn.Module):
    """Attention from the queries to the items, then two scores for each bit."""

    def __init__(self, attention: Any) -> None:
        super().__init__()
        self.attention = attention
        self.readout = nn.Linear(D_MODEL, 2 * BLOCKS)

    def forward(self, tokens: Tensor) -> Tensor:
        items, queries = tokens.split([BLOCKS * SYMBOLS, SYMBOLS], dim=1)
        return self.readout(self.attention(queries, items)).unflatten(-1, (BLOCKS, 2))


def models() -> dict[str, Callable[[], nn.Module]]:
    """Four models of the same size: two attentions, each for both tasks."""
    return {
        f"{name}, {task}": build
        for task in ("one symbol", "four symbols")
        for name, build in (("plain", _plain), ("collaborative", _collaborative))
    }


def _plain() -> nn.Module:
    return Lookup(MultiHeadAttention(D_MODEL, BLOCKS, d_head=6))


def _collaborative() -> nn.Module:
    return Lookup(CollaborativeAttention(D_MODEL, BLOCKS, 21, d_head=6))


def draw(generator: torch.Generator, *, one_symbol: bool) -> training.Batch:
    """Items, then queries, as rows (batch, 64 + 16, d_model); the bits (batch, 16, 4)."""
    bits = torch.randint(2, (BATCH, BLOCKS, SYMBOLS), generator=generator)
    order = torch.rand(BATCH, BLOCKS, SYMBOLS, generator=generator).argsort(dim=-1)
    asked = order[:, :1].expand_as(order) if one_symbol else order
    symbol, block = torch.eye(SYMBOLS), torch.eye(BLOCKS)
    tokens = torch.zeros(BATCH, (BLOCKS + 1) * SYMBOLS, D_MODEL)
    items, queries = tokens.split([BLOCKS * SYMBOLS, SYMBOLS], dim=1)
    items[..., :SYMBOLS] = symbol.repeat(BLOCKS, 1)
    items[..., -BLOCKS - 2 : -2] = block.repeat_interleave(SYMBOLS, dim=0)
    items[..., -2] = 2.0 * bits.flatten(1) - 1.0
    queries[..., : BLOCKS * SYMBOLS] = symbol[asked].transpose(1, 2).flatten(2)
    tokens[..., -1] = 1.0
    return tokens, bits.gather(-1, asked).mT


def run(model: str, seed: int) -> float:
    """Train one model from a seed; the share of bits it answers rightly on fresh batches."""
    torch.manual_seed(seed)
    lookup = models()[model]()
    task = partial(draw, one_symbol=model.endswith("one symbol"))
    training.fit(lookup, task, STEPS, seed=seed, learning_rate=LEARNING_RATE)
    return training.accuracy(lookup, task)
