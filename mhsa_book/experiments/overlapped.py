"""Five questions at once, asked by heads so narrow that one alone can hardly tell keys apart.

A sequence is a table and eight questions. The table has 16 keys in random order, each with a
random bit. A question names one key, and its answer is five bits: those of this key and of the
next four. One distribution over the keys brings back one bit, or an average of several, and a
score of one column orders the keys in a line, of which it can only pick the ends.

The overlapping attention has 8 heads of 1 column that read 3. Against it stand plain heads of
the same parameters, as narrow (12 of 1), as many parameters in wider ones (6 of 2, 4 of 3), and
plain heads of the same arithmetic (5 of 3).

Before the predictions were written, seed 100 was looked at with one learning rate: all arms of
equal parameters came close to 1, 4 heads of 3 first and 12 heads of 1 last.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from mhsa_book import costs
from mhsa_book.costs import variant_costs
from mhsa_book.experiments.design import ANEW, Experiment, Question, Setup
from mhsa_book.experiments.training import Batch, Layers, accuracy, parameters_built_by
from mhsa_book.results.paired import Measure
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.variants.overlapped import OverlappedAttention

D_MODEL, N_KEYS, N_BITS, N_QUESTIONS = 32, 16, 5, 8

OVERLAP = "8 heads of 1, overlap 1"
NARROW, PAIRS, WIDE = "12 heads of 1", "6 heads of 2", "4 heads of 3"
SAME_FLOPS = "5 heads of 3, equal FLOPs"
TWIN = f"{OVERLAP}, again"

N = N_KEYS + N_QUESTIONS


def draw(generator: torch.Generator, batch: int = 32) -> Batch:
    """Tables and questions as ids, and the answers, 0 to 31, at the questions.

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
    """The bits of the asked key and of the next four, as a number.

    >>> answer(torch.tensor([[1, 0, 1, 1, 0, 0]]), torch.tensor([[0, 1, 3]])).tolist()
    [[13, 6, 9]]
    """
    powers = 2 ** torch.arange(N_BITS)
    keys = (asked[..., None] + torch.arange(N_BITS)) % bits.shape[1]
    return (bits[:, None].expand(*keys.shape[:2], -1).gather(2, keys) * powers).sum(dim=-1)


def _arm(attention: Callable[[], MultiHeadAttention], flops: Mapping[str, int]) -> Setup:
    """One layer of attention, and nothing else that looks at another token."""

    def build() -> Layers:
        return Layers([attention()], 3 * N_KEYS, N)

    settings = {
        "d_model": D_MODEL,
        "parameters": parameters_built_by(build),
        "attention FLOPs of a sequence": sum(flops.values()),
    }
    return Setup(build, draw, settings)


def _plain(n_heads: int, d_head: int) -> Setup:
    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(D_MODEL, n_heads, d_head=d_head)

    return _arm(attention, costs.flops(N, D_MODEL, n_heads, d_head=d_head))


def _overlapped() -> Setup:
    def attention() -> OverlappedAttention:
        return OverlappedAttention(D_MODEL, 8, 1, d_head=1)

    return _arm(attention, variant_costs.overlapped(D_MODEL, 8, 1, n=N, d_head=1).flops)


ARMS = {
    OVERLAP: _overlapped(),
    NARROW: _plain(12, 1),
    PAIRS: _plain(6, 2),
    WIDE: _plain(4, 3),
    SAME_FLOPS: _plain(5, 3),
}

EXPERIMENT = Experiment(
    name="overlapped",
    question="Do narrow heads answer more when they overlap?",
    measure=Measure("share of right answers"),
    score=accuracy,
    level=1.0,
    tolerance=0.02,
    arms=ARMS | {TWIN: replace(ARMS[OVERLAP], anew=ANEW)},
    floor=(OVERLAP, TWIN),
    questions=(
        Question(OVERLAP, NARROW, "steps"),
        Question(OVERLAP, PAIRS, "steps"),
        Question(OVERLAP, WIDE, "steps"),
        Question(OVERLAP, SAME_FLOPS, "steps"),
        Question(OVERLAP, NARROW, margin=0.02),
        Question(OVERLAP, WIDE, margin=0.02),
    ),
    predictions=(
        "Overlapping heads learn it in fewer steps than 12 heads of 1, which are as narrow.",
        "4 heads of 3 learn it in no more steps than the overlapping ones, and so do 5.",
        "On the plateau overlapping heads and 4 heads of 3 give the same share of right "
        "answers within 0.02, close to 1; 12 heads of 1 give less.",
    ),
    n_steps=4000,
    every=100,
)
