"""What we expected, and what will be compared, written down before any reported seed was run.

Looked at before: a translator of seed 100, trained for 800 of its 1200 steps. Its gates were
trained with four λ (0.003, 0.01, 0.03, 0.1), which left 24, 20, 16 and 9 open; and two of its
orders by chance were cut and fine-tuned at two rates. From that come the λ and the rates that
are tried, and the rate of the weights while gates are trained. A run in miniature, with four
steps of training, timed shapes as they would be: closed gates took 1.04 of the whole's time,
12 heads 0.66, 4 heads 0.41. Importance, greedy removal, confidence, roles and training from
scratch were looked at nowhere but in that miniature, whose models had learned nothing.
"""

from typing import NamedTuple

from mhsa_book.results.pruning import (
    CHANCE,
    CONFIDENCE,
    GREEDY,
    IMPORTANCE,
    L0,
    L0_HEADS,
    SCRATCH,
)

PREDICTIONS = (
    "The λ that was chosen for a level on two other seeds leaves within three heads of that "
    "level open: in at least seven of eight seeds, at every level.",
    "Gates are bimodal: of all that were trained, at most one in eight is neither 0 nor 1 in "
    "evaluation mode.",
    "Before fine-tuning, at 12 heads, greedy removal loses least of importance, confidence "
    "and random, in at least seven of eight seeds.",
    "Fine-tuning forgives at 18 heads: after it, every way to choose, random too, is below "
    "0.05 nats a word on average over the seeds.",
    "At 8 heads, fine-tuned, greedy removal and L0's heads alone lose less than random, each "
    "in at least seven of eight seeds.",
    "At 8 heads, fine-tuned, confidence is no better than random: it loses more in at least "
    "four of eight seeds.",
    "Against the paper: at 8 heads, L0's shape trained from scratch for as many steps loses "
    "less than L0, in at least five of eight seeds.",
    "At 4 heads L0 keeps fewer heads of the encoder's self-attention than of either of the "
    "other two kinds, all seeds together.",
    "At 8 heads, greedy removal, importance and L0 keep more heads with a role than chance "
    "does, each at p ≤ 0.05; confidence does not.",
    "Closed gates save no time, at least 0.98 of the whole's; with 12 heads removed a pass "
    "takes between 0.6 and 0.85 of it, with 20 between 0.35 and 0.6: means over the seeds.",
)
"""Committed before the first unit of a reported seed."""


class Question(NamedTuple):
    """Two ways that will be compared at a level, after fine-tuning: first − second."""

    first: str
    second: str
    level: int = 8


QUESTIONS = (
    Question(L0_HEADS, CHANCE),
    Question(IMPORTANCE, CHANCE),
    Question(GREEDY, CHANCE),
    Question(CONFIDENCE, CHANCE),
    Question(L0_HEADS, GREEDY),
    Question(L0, SCRATCH),
)
"""One family, in the loss of any task: eight seeds can tell six apart after Holm's correction,
and not seven. All else is shown with intervals and claimed of nothing."""
