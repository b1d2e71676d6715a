"""One look-up of rank r: how wide must a head be, and can thin ones do it together?

Sixteen items stand in a sequence, each with a code of r signs and a bit. A query has the code
of one of them, and asks for its bit. The items are eight pairs: two codes that differ in one
sign, the same for all pairs of a sequence, and opposite bits. So no sign may be left out of the
comparison. For one head that means: with A = W_Q · W_Kᵀ, every code c has to compare better
with itself than with its eight neighbours that differ in one sign, c · A c > c · A c′. Then in
each column of A the diagonal outweighs the sum of all others, and such a matrix has full rank,
r. A head of d_head columns has rank d_head at most: one with d_head < r must fail on some code
(the bottleneck of Bhojanapalli et al., arXiv 2002.07028). A constant in the query is
no help: it speaks for one sign of a place, and so against the other.

The argument is about one head. Several thin ones may compare some signs each, and the sum of
what they bring back may still lean to the right side. Two sweeps: a fixed width, 32 columns
shared among 1 to 16 heads, with equal parameters; and one head of 2 to 32 columns.

Tokens are given as features, so that only the attention and a linear readout are learned.

Before the predictions were written, seed 100 was looked at with the rate 0.01: one head of
half as many columns as signs came to 0.55 to 0.58, one of as many to 1.00, and one of 32 for 16
signs stayed at 0.61; for 4, 8 and 16 signs 8 heads of 4 came to 1.00, 1.00 and 0.96, 16
heads of 2 to 1.00, 0.93 and 0.84.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.experiments.training import Batch, accuracy, parameters_built_by
from mhsa_book.results.paired import Measure
from mhsa_lib.attention import MultiHeadAttention

PAIRS, BATCH, LONGEST = 8, 32, 16
D_MODEL = 2 * LONGEST + 2  # a query's code; an item's code; bit, constant
HEADS, RANKS, WIDTH, ALONE = (1, 2, 4, 8, 16), (4, 8, 16), 32, (2, 4, 8, 16, 32)


class OneLookup(nn.Module):
    """Attention from the queries to the items, then two scores."""

    def __init__(self, n_heads: int, d_head: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, n_heads, d_head=d_head)
        self.readout = nn.Linear(D_MODEL, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        items, queries = tokens.split(2 * PAIRS, dim=1)
        return self.readout(self.attention(queries, items))


def draw(generator: torch.Generator, rank: int) -> Batch:
    """Items, then a query for each, as rows (batch, 16 + 16, d_model); the bits (batch, 16).

    >>> tokens, bits = draw(torch.Generator().manual_seed(0), rank=8)
    >>> tokens.shape, bits.shape
    (torch.Size([32, 32, 34]), torch.Size([32, 16]))
    """
    items = codes(generator, rank)
    bit = torch.randint(2, (BATCH, PAIRS), generator=generator)
    bits = torch.cat([bit, 1 - bit], dim=1)
    order = torch.rand(BATCH, 2 * PAIRS, generator=generator).argsort(dim=-1)
    tokens = torch.zeros(BATCH, 4 * PAIRS, D_MODEL)
    keys, queries = tokens.split(2 * PAIRS, dim=1)
    keys[..., LONGEST : LONGEST + rank] = items
    keys[..., -2] = 2.0 * bits - 1.0
    queries[..., :rank] = items.gather(1, order[..., None].expand_as(items))
    tokens[..., -1] = 1.0
    return tokens, bits.gather(-1, order)


def codes(generator: torch.Generator, rank: int) -> Tensor:
    """Sixteen different codes of signs: the second half is the first with one sign turned.

    Three signs, in places of their own in every sequence, count the pairs; so no two are alike.

    >>> found = codes(torch.Generator().manual_seed(0), rank=4)
    >>> (found[0, :8] != found[0, 8:]).sum(dim=-1).tolist()
    [1, 1, 1, 1, 1, 1, 1, 1]
    >>> len(set(map(tuple, found[0].tolist())))
    16
    """
    signs = torch.randint(2, (BATCH, PAIRS, rank), generator=generator)
    counted = torch.arange(PAIRS)[:, None] // torch.tensor([4, 2, 1]) % 2
    signs[..., :3] = counted
    turned = signs.clone()
    turned[..., -1] = 1 - signs[..., -1]
    places = torch.rand(BATCH, 1, rank, generator=generator).argsort(dim=-1)
    both = torch.cat([signs, turned], dim=1)
    return 2.0 * both.gather(-1, places.expand_as(both)) - 1.0


def name(n_heads: int, d_head: int, rank: int) -> str:
    """What an arm is called.

    >>> name(1, 32, 8), name(4, 8, 16)
    ('1 head of 32, 8 signs', '4 heads of 8, 16 signs')
    """
    return f"{n_heads} head{'s' if n_heads > 1 else ''} of {d_head}, {rank} signs"


def _arm(n_heads: int, d_head: int, rank: int) -> Setup:
    build = partial(OneLookup, n_heads, d_head)
    settings = {
        "n_heads": n_heads,
        "d_head": d_head,
        "signs": rank,
        "parameters": parameters_built_by(build),
    }
    return Setup(build, partial(draw, rank=rank), settings)


CELLS = {
    *((h, WIDTH // h, r) for h in HEADS for r in RANKS),
    *((1, d, r) for d in ALONE for r in RANKS),
}
"""Heads, columns of each, signs of a code."""

ARMS = {name(*cell): _arm(*cell) for cell in sorted(CELLS, key=lambda c: (c[2], c[0], c[1]))}
TWO, FOUR, EIGHT, SIXTEEN = (name(h, WIDTH // h, 16) for h in (2, 4, 8, 16))
TWIN = f"{TWO}, again"

EXPERIMENT = Experiment(
    name="one_lookup",
    question="How wide must a head be for one look-up, and can thin ones do it together?",
    measure=Measure("share of right answers"),
    score=accuracy,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[TWO], anew=ANEW)},
    floor=(TWO, TWIN),
    questions=(
        Question(SIXTEEN, EIGHT),
        Question(EIGHT, TWO),
        Question(FOUR, TWO, margin=0.02),
        Question(EIGHT, name(1, 4, 16)),
        Question(name(16, 2, 8), name(8, 4, 8)),
        Question(FOUR, TWO, "steps"),
    ),
    predictions=(
        "One head of half as many columns as signs stays below 0.7 in every seed, for 4, 8 and "
        "16 signs; one head of as many columns as signs comes to 0.98 in most seeds.",
        "Thin heads together do what none could alone: at a fixed width of 32, every number of "
        "heads but one ends above 0.8 for 16 signs in every seed.",
        "And yet they lose, the thinner the more: for 16 signs 16 heads end below 8, and 8 "
        "below 2; for 8 signs 16 end below 8.",
        "Four heads of 8 and two of 16 tie within 0.02 for 16 signs, where a head of 8 alone "
        "fails.",
        "A single wide head is not the safest: of one head of 32, some seed stays below 0.95.",
    ),
    n_steps=1600,
    every=40,
    tuned_on=(100,),
)
