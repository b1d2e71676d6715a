"""Do heads that compare on the same thing learn more when they share queries and keys?

Sixteen symbols lie in each of four blocks, every time with another bit. A query names the
symbol to look up in each block and must answer four bits, so every head has to find a symbol in
a block of its own. "One symbol": the query names the same symbol four times; one comparison,
shared by all heads, with another preference for blocks in each, is enough. "Four symbols": each
block is asked about another one, so there is little to share. Plain heads compare in 6 columns
each; the collaborative ones have 21 together, for as many parameters.

Sharing costs arithmetic, since every head compares in all shared columns: a third arm spends
the same FLOPs on plain heads of 7 columns.

Tokens are given as features (symbols and blocks one-hot), so that only the attention and a
linear readout are learned.

Before the predictions were written, seed 100 was looked at with one learning rate: all arms of
equal parameters learned everything, the collaborative one first with one symbol, and last with
four.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book import costs
from mhsa_book.experiments import training
from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.results.paired import Measure
from mhsa_book.results.runs import Setting
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.variants.collaborative import CollaborativeAttention

BLOCKS, SYMBOLS = 4, 16
D_MODEL = BLOCKS * SYMBOLS + BLOCKS + 2  # a query's symbols; block, bit, and a constant
D_HEAD, D_SHARED, BATCH = 6, 21, 16

ONE, FOUR = "one symbol", "four symbols"
SHARED, PLAIN, SAME_FLOPS = "collaborative", "plain", "plain, equal FLOPs"


class Lookup(nn.Module):
    """Attention from the queries to the items, then two scores for each bit."""

    def __init__(self, attention: Any) -> None:
        super().__init__()
        self.attention = attention
        self.readout = nn.Linear(D_MODEL, 2 * BLOCKS)

    def forward(self, tokens: Tensor) -> Tensor:
        items, queries = tokens.split([BLOCKS * SYMBOLS, SYMBOLS], dim=1)
        return self.readout(self.attention(queries, items)).unflatten(-1, (BLOCKS, 2))


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


def plain_flops(d_head: int) -> int:
    """FLOPs of plain heads that ask for all symbols of a block, on one sequence.

    >>> plain_flops(6)
    635904
    """
    n_query, n_key = SYMBOLS, BLOCKS * SYMBOLS
    return sum(costs.flops(n_query, D_MODEL, BLOCKS, n_key=n_key, d_head=d_head).values())


def shared_flops() -> int:
    """FLOPs of the collaborative heads, which compare in all shared columns.

    >>> plain_flops(7) < shared_flops() < plain_flops(8)
    True
    """
    n_query, n_key, plain = SYMBOLS, BLOCKS * SYMBOLS, plain_flops(D_HEAD)
    wider = D_SHARED - BLOCKS * D_HEAD
    project = 2 * (n_query + n_key) * D_MODEL * wider
    content = 2 * n_key * D_MODEL * BLOCKS
    compare = 2 * n_query * n_key * BLOCKS * (D_SHARED - D_HEAD)
    return plain + project + content + compare


def _arm(name: str, task: str) -> Setup:
    makes: dict[str, tuple[Callable[[], Any], int]] = {
        SHARED: (_collaborative, shared_flops()),
        PLAIN: (partial(_plain, D_HEAD), plain_flops(D_HEAD)),
        SAME_FLOPS: (partial(_plain, 7), plain_flops(7)),
    }
    build, flops = makes[name]
    settings: dict[str, Setting] = {
        "task": task,
        "parameters": training.parameters_built_by(build),
        "attention FLOPs of a sequence": flops,
    }
    return Setup(build, partial(draw, one_symbol=task == ONE), settings)


def _plain(d_head: int) -> nn.Module:
    return Lookup(MultiHeadAttention(D_MODEL, BLOCKS, d_head=d_head))


def _collaborative() -> nn.Module:
    return Lookup(CollaborativeAttention(D_MODEL, BLOCKS, D_SHARED, d_head=D_HEAD))


ARMS = {
    f"{name}, {task}": _arm(name, task)
    for task in (ONE, FOUR)
    for name in (SHARED, PLAIN, SAME_FLOPS)
}
TWIN = f"{PLAIN}, {FOUR}, again"

EXPERIMENT = Experiment(
    name="collaborative",
    question="Do heads that compare on the same thing gain from sharing it?",
    measure=Measure("share of bits answered rightly"),
    score=training.accuracy,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[f"{PLAIN}, {FOUR}"], anew=ANEW)},
    floor=(f"{PLAIN}, {FOUR}", TWIN),
    questions=(
        Question(f"{SHARED}, {ONE}", f"{PLAIN}, {ONE}", "steps"),
        Question(f"{SHARED}, {ONE}", f"{SAME_FLOPS}, {ONE}", "steps"),
        Question(f"{SHARED}, {FOUR}", f"{PLAIN}, {FOUR}", "steps"),
        Question(f"{SHARED}, {FOUR}", f"{SAME_FLOPS}, {FOUR}", "steps"),
        Question(f"{SHARED}, {ONE}", f"{PLAIN}, {ONE}", margin=0.02),
        Question(f"{SHARED}, {FOUR}", f"{PLAIN}, {FOUR}", margin=0.02),
    ),
    predictions=(
        "With one symbol the collaborative heads need fewer steps than plain ones of equal "
        "parameters; than plain ones of equal FLOPs they do not.",
        "With four symbols, where there is little to share, they need more steps than both.",
        "On the plateau all answer everything, the same within 0.02.",
    ),
    n_steps=3200,
    every=80,
)
