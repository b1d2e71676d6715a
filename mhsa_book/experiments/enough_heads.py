"""From how many heads on is every one of k questions answered, every time?

The sweep ``lookups`` has 1, 2, 4, 8 or 16 heads, so it jumps over the numbers next to k. Its
keys contain the bits that are asked for, and the argument why k heads are needed holds for
weights that do not depend on them. Here every number of heads and of questions is tried from 1
to 4, keys do not see the bits, and the questions of a query are about different symbols. All
arms have heads of 8 columns, one learning rate, and the same sequences.

A query counts as answered when *all* of its k answers are right. For a linear readout behind h
heads there is a bound. What the heads bring of k bits are h sums of them, so the k scores
lie in a space of h dimensions, which k planes, one for each answer, cut into
1 + k + ... + (k over h) pieces at most (Schläfli's count; Cover, 1965, IEEE Transactions on
Electronic Computers EC-14). A piece is right for one of the 2 to the power of k combinations of
bits, so no more of them can be answered, and these are fewer than all as long as h < k
(``most``). But with h = k − 1 only one is missing, so one head too few may be almost enough.

Before the predictions were written, seed 100 was looked at in four cells, in the task
``lookups`` with keys that do not see the bits, for 400 steps: of the single answers one head
had 0.79 for two questions, three had 0.94 and four 1.00 for four, and five 0.97 for six.
"""

from dataclasses import replace
from functools import partial
from math import comb

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from mhsa_book.experiments.design import ANEW, Experiment, Setup
from mhsa_book.experiments.lookups import BATCH, D_MODEL, QUERIES, SLOTS, SYMBOLS, Lookups
from mhsa_book.experiments.training import Batch, Draw, parameters_built_by
from mhsa_book.results.paired import Measure

HEADS = QUESTIONS = (1, 2, 3, 4)
D_HEAD, BIT = 8, -2


class WithoutTheBit(nn.Module):
    """A weight (out, in) whose column for the bit is 0, so that keys do not contain it."""

    def forward(self, weight: Tensor) -> Tensor:
        seen = torch.ones(weight.shape[-1], device=weight.device)
        seen[BIT] = 0
        return weight * seen


def built(n_heads: int, k: int) -> Lookups:
    """Return an attention from queries to items with a linear readout; its keys see no bit.

    >>> built(2, k=3).attention.project.W_K.weight[:, BIT].abs().sum().item()
    0.0
    """
    model = Lookups(n_heads, D_HEAD, k)
    register_parametrization(model.attention.project.W_K, "weight", WithoutTheBit())
    return model


def draw(generator: torch.Generator, k: int) -> Batch:
    """Items, then queries that name different symbols, as in ``lookups``; the k bits.

    >>> tokens, bits = draw(torch.Generator().manual_seed(0), k=3)
    >>> tokens.shape, bits.shape
    (torch.Size([16, 24, 74]), torch.Size([16, 16, 3]))
    """
    bits = torch.randint(2, (BATCH, SYMBOLS), generator=generator)
    asked = torch.rand(BATCH, QUERIES, SLOTS, generator=generator).argsort(dim=-1)
    symbol = torch.eye(SYMBOLS)
    tokens = torch.zeros(BATCH, SYMBOLS + QUERIES, D_MODEL)
    items, queries = tokens.split([SYMBOLS, QUERIES], dim=1)
    items[..., -SYMBOLS - 2 : -2] = symbol
    items[..., BIT] = 2.0 * bits - 1.0
    queries[..., : SLOTS * SYMBOLS] = symbol[asked].flatten(2)
    tokens[..., -1] = 1.0
    return tokens, bits[:, None].expand(-1, QUERIES, -1).gather(-1, asked)[..., :k]


@torch.no_grad()
def all_right(model: nn.Module, draw: Draw, *, seed: int = 10_000, n_batches: int = 4) -> float:
    """Share of the queries of which every answer is right, on batches of another seed.

    >>> 0.2 < all_right(built(1, k=1), partial(draw, k=1)) < 0.8  # before it is trained
    True
    """
    generator, found = torch.Generator().manual_seed(seed), []
    for _ in range(n_batches):
        tokens, bits = draw(generator)
        found.append((model(tokens).argmax(dim=-1) == bits).all(dim=-1).float().mean())
    return torch.stack(found).mean().item()


def most(n_heads: int, k: int) -> float:
    """The largest share that a linear readout can have, if no weight depends on a bit.

    >>> most(1, 2), most(3, 4), most(4, 4)
    (0.75, 0.9375, 1.0)
    """
    return sum(comb(k, i) for i in range(min(n_heads, k) + 1)) / 2**k


def name(n_heads: int, k: int) -> str:
    """What an arm is called.

    >>> name(1, 4), name(3, 1)
    ('1 head, 4 questions', '3 heads, 1 question')
    """
    heads, questions = ("s" if n > 1 else "" for n in (n_heads, k))
    return f"{n_heads} head{heads}, {k} question{questions}"


def _arm(n_heads: int, k: int) -> Setup:
    parameters = parameters_built_by(partial(Lookups, n_heads, D_HEAD, k))
    settings = {"n_heads": n_heads, "d_head": D_HEAD, "questions": k, "parameters": parameters}
    return Setup(partial(built, n_heads, k), partial(draw, k=k), settings)


ARMS = {name(h, k): _arm(h, k) for k in QUESTIONS for h in HEADS}
ENOUGH = name(4, 4)
TWIN = f"{ENOUGH}, again"

EXPERIMENT = Experiment(
    name="enough_heads",
    question="From how many heads on is every one of k questions answered, every time?",
    measure=Measure("share of queries with every answer right"),
    score=all_right,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[ENOUGH], anew=ANEW)},
    floor=(ENOUGH, TWIN),
    questions=(),
    predictions=(
        "With as many heads as questions or more, every seed ends at 0.99 or more.",
        "With fewer heads no seed ends more than 0.02 above what counting allows, so none is "
        "at 0.99.",
        "One head too few is almost enough where there are many questions: 3 heads answer "
        "all four in at least 0.8 of the queries, in most seeds.",
        "One head too few loses more where there are few: no seed ends above 0.8 with 1 head "
        "for two questions.",
        "Spare heads change nothing: wherever there are enough, 1 more or less moves the end "
        "of a seed by 0.01 at most.",
    ),
    n_steps=480,
    every=24,
    rates=(0.01,),
    tuned_on=(100,),
)
