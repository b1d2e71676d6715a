"""Who steps in when a head that names Mary is off, and who tells the name movers?

A second look at the sentences of ``whose_heads_name_mary``, made when its numbers were known.
They left two questions. L23H0 writes for the right name, but without it the lead stays as it
is, so others must react. And whatever is told to such a head can hardly show in the lead,
because the others react to that as well. So here it is measured what every head *writes*:

- without one head or a few, at their mean;
- if a head tells the queries of one other head, at the last token, what it found in the source,
  the same sentence with a third person who gives.

Before the predictions were written, both were looked at on the sentences of ``choosing``. On
held-out sentences nothing of it had been looked at.

``python -m mhsa_book.experiments.who_steps_in`` runs it in two minutes, and stores the numbers
with the commit of this file.

Source: Wang et al., "Interpretability in the Wild", section 3.4, arXiv 2211.00593.
"""

import datetime
import time
from pathlib import Path

import torch
from torch import Tensor

from mhsa_book import models
from mhsa_book.experiments import running
from mhsa_book.experiments import whose_heads_name_mary as mary
from mhsa_book.experiments.whose_heads_name_mary import Group
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.results import who_steps_in as results
from mhsa_book.results.who_gets_the_drink import head as read_name
from mhsa_book.results.who_gets_the_drink import name
from mhsa_book.results.who_steps_in import LEAD, Numbers, SteppedIn
from mhsa_book.results.whose_heads_name_mary import MEAN

MOVERS = ("L23H0", "L23H1", "L23H2")
"""They attend to the right name, and wrote for it on the sentences that choose."""

OFF = ("L23H0", " ".join(MOVERS), "L20H0", "L17H4", "L16H0", "L24H4")
"""What is switched off; heads that are off together have a space between them."""

RECEIVERS = (*MOVERS, "L23H3", "L24H4")
"""Heads whose queries are told something."""

PREDICTIONS = (
    "Without L23H0, of all other heads L24H4 is the one that comes to write most more for the "
    "right name, on every template.",
    "Without L23H0, L23H1 and L23H2 together L24H4 gains more than without L23H0 alone, on "
    "every template.",
    "Without L20H0 these three together write less by more than half a logit, on every "
    "template, and L23H3 loses less than a fifth of what it writes.",
    "Without L17H4, and also without L16H0, these three together write less, on every "
    "template.",
    "Of all heads L20H0 tells the queries of these three most, taken together, on every "
    "template, and they write less for it.",
    "Next comes L19H2, over all templates.",
    "What L20H0 tells their queries is more than half of what they lose without it.",
    "Of all heads L23H3 tells the queries of L24H4 most, on every template, and L24H4 writes "
    "less against the right name for it.",
)


@torch.no_grad()
def reacted(lm: LanguageModel, template: str) -> dict[str, Numbers]:
    """By how much the lead changes, and what every head writes, with heads off."""
    group = Group(lm, mary.pairs_of(template))
    instead = mary.stand_ins(lm, group, template)[MEAN]
    before, found = group.telling.direct(), dict[str, Numbers]()
    for off in OFF:
        heads = [read_name(each) for each in off.split()]
        last, z = mary.streams_without(group, heads, instead)
        changed = group.telling.ahead(last) - group.lead
        more = group.telling.direct(z, last) - before
        every = {f"L{i}H{j}": _rounded(more[:, i, j]) for i in range(30) for j in range(9)}
        found[off] = {LEAD: _rounded(changed)} | mary.shortened(every)
    return found


@torch.no_grad()
def told(lm: LanguageModel, template: str) -> dict[str, Numbers]:
    """By how much a receiver writes more if a head tells its queries what the source says."""
    group, receivers = Group(lm, mary.pairs_of(template)), [*map(read_name, RECEIVERS)]
    last = max(layer for layer, _ in receivers)
    before = group.telling.direct()
    found: dict[str, Numbers] = {receiver: {} for receiver in RECEIVERS}
    for sender in [(i, head) for i in range(last) for head in range(lm.n_heads)]:
        rows, z = group.telling.told(sender, -1, last=last), group.target.z.clone()
        hear = [each for each in receivers if sender[0] < each[0]]
        for layer, head in hear:
            z[:, layer, head, -1] = group.telling.heard((layer, head), "q", rows[layer], -1)
        changed = group.telling.direct(z) - before
        for layer, head in hear:
            found[name((layer, head))][name(sender)] = _rounded(changed[:, layer, head])
    return {receiver: mary.shortened(by) for receiver, by in found.items()}


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 3) for value in values.tolist()]


def run(commit: str) -> SteppedIn:
    """Measure every template; ``commit`` is the one that holds the predictions."""
    begun, lm = time.process_time(), models.load("SmolLM2-135M")
    off = {t: reacted(lm, t) for t in mary.TEMPLATES}
    tells = {t: told(lm, t) for t in mary.TEMPLATES}
    machine = running.machine() | {"seconds": round(time.process_time() - begun)}
    date = datetime.date.today().isoformat()
    return SteppedIn(PREDICTIONS, commit, date, machine, off, tells)


if __name__ == "__main__":
    results.save(run(running.predictions_commit(Path(__file__))))
