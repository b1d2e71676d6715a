"""Five questions about the heads that name Mary, asked when all other results were known.

They are asked of the 32 held-out sentences of ``whose_heads_name_mary``:

- What does the *stand-in* of a head that is off write itself? Without knowing that, what the
  lead changes cannot be split into the head's own term and the reactions of others.
- What does L24H4 write with L23H3, L16H0 and L19H2 off, when it helps the right name?
- How does the lead change if L20H0 lies to the queries of all name movers at once?
- What do L29H1 and L29H0 write of the last token, and what of the two names?
- On how many sentences is the right name ahead with six of the sixteen named heads off that
  are drawn, and not chosen one after the other?

Nothing was predicted. ``python -m mhsa_book.experiments.mary_follow_up`` runs it in half a
minute and stores the numbers.
"""

import datetime
import random
import time
from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book import models
from mhsa_book.experiments import running
from mhsa_book.experiments import whose_heads_name_mary as mary
from mhsa_book.experiments.who_steps_in import MOVERS
from mhsa_book.experiments.whose_heads_checked import NAMES_OF
from mhsa_book.experiments.whose_heads_name_mary import Group
from mhsa_book.models.switching import Head
from mhsa_book.results import mary_follow_up as results
from mhsa_book.results.mary_follow_up import FollowedUp
from mhsa_book.results.who_gets_the_drink import Found as Lab1
from mhsa_book.results.who_gets_the_drink import head as read_name
from mhsa_book.results.who_gets_the_drink import name
from mhsa_book.results.whose_heads_name_mary import MEAN, Found, Numbers, mean_by_head
from mhsa_book.roles.ranks import spearman

OFF: tuple[Head, ...] = ((23, 3), (16, 0), (19, 2))
"""The first three of the order in which heads were chosen; the fourth is L24H4."""

TOLD = (" ".join(MOVERS), " ".join((*MOVERS, "L23H7")))
"""Heads whose queries L20H0 lies to at once."""

LAST = ("L29H1", "L29H0")
"""Heads of the last layer that give half of their weight to the last token."""

N_DRAWS = 3


def stand_ins(group: Group, instead: dict[str, Tensor]) -> dict[str, Numbers]:
    """For every way, what stands in for each named head writes into the lead."""
    found = {}
    for way, z in instead.items():
        writes = group.telling.direct(z.expand_as(group.target.z))
        found[way] = {name((i, j)): _rounded(writes[:, i, j]) for i, j in mary.named()}
    return found


def turned(group: Group, instead: Tensor) -> Numbers:
    """What L24H4 writes with three others off."""
    last, z = mary.streams_without(group, OFF, instead)
    return {"L24H4": _rounded(group.telling.direct(z, last)[:, 24, 4])}


def together(group: Group) -> Numbers:
    """What changes in the lead if L20H0 lies to the queries of several heads at once."""
    row = group.telling.told((20, 0), -1, last=23)[23]
    found = {}
    for receivers in TOLD:
        heads, z = [*map(read_name, receivers.split())], group.target.z.clone()
        for layer, head in heads:
            z[:, layer, head, -1] = group.telling.heard((layer, head), "q", row, -1)
        found[receivers] = _rounded(mary.lead_without(group, heads, z) - group.lead)
    return found


def by_key(group: Group) -> dict[str, Numbers]:
    """What each of the last heads writes of the last token, the names and all others.

    A head's z is a sum over keys, weight times value, so what it writes is one, too.
    """
    found, at = {}, torch.arange(len(group.texts))
    weights = group.weights(-1)
    for each in LAST:
        layer, head = read_name(each)
        v = group.target.heard[layer][2]
        values = v.repeat_interleave(group.target.z.shape[2] // v.shape[1], dim=1)[:, head]
        terms = weights[:, layer, head, :, None] * values
        of_key = []
        for k in range(terms.shape[1]):
            z = torch.zeros_like(group.target.z)
            z[:, layer, head, -1] = terms[:, k]
            of_key.append(group.telling.direct(z)[:, layer, head])
        written = torch.stack(of_key, dim=1)
        names = written[at, group.right] + written[at, group.first] + written[:, group.second]
        itself = written[:, -1]
        found[each] = {
            "the last token": _rounded(itself),
            "the names": _rounded(names),
            "all others": _rounded(written.sum(dim=1) - itself - names),
        }
    return found


def drawn(group: Group, instead: Tensor) -> Numbers:
    """The lead with six of the named heads off, which are drawn; heads of layer 0 stay on."""
    among = [head for head in mary.named() if head[0] > 0]
    found = {}
    for n in range(N_DRAWS):
        heads = sorted(random.Random(n).sample(among, mary.N_OFF))
        found[" ".join(map(name, heads))] = _rounded(mary.lead_without(group, heads, instead))
    return found


def inside_layers(found: Found, lab_1: Lab1, template: str = "store") -> dict[str, float]:
    """How far each measure orders the nine heads of a layer by effect, on average over layers.

    As ``whose_heads_checked.ordered``, which orders all 270 heads.
    """
    seen = found.watched[template]
    direct = mean_by_head(seen["direct"])
    names = [[name((layer, head)) for head in range(9)] for layer in range(30)]

    def ranked(measure: Callable[[str], float]) -> float:
        effect, values = (
            torch.tensor([[of(h) for h in row] for row in names], dtype=torch.float64)
            for of in (lambda head: abs(lab_1.alone(head).mean), measure)
        )
        return spearman(values, effect).mean().item()

    return {
        "its weight on the names": ranked(
            lambda head: sum(seen["weights"][place][head] for place in NAMES_OF)
        ),
        "the length of its z": ranked(lambda head: seen["length"][head]),
        "what it writes": ranked(lambda head: abs(direct[head])),
    }


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 3) for value in values.tolist()]


@torch.no_grad()
def run() -> FollowedUp:
    """Measure every template."""
    begun, lm = time.process_time(), models.load("SmolLM2-135M")
    groups = {t: Group(lm, mary.pairs_of(t)) for t in mary.TEMPLATES}
    instead = {t: mary.stand_ins(lm, group, t) for t, group in groups.items()}
    found = (
        {t: stand_ins(group, instead[t]) for t, group in groups.items()},
        {t: turned(group, instead[t][MEAN]) for t, group in groups.items()},
        {t: together(group) for t, group in groups.items()},
        {t: by_key(group) for t, group in groups.items()},
        {t: drawn(group, instead[t][MEAN]) for t, group in groups.items()},
    )
    machine = running.machine() | {"seconds": round(time.process_time() - begun)}
    return FollowedUp(datetime.date.today().isoformat(), machine, *found)


if __name__ == "__main__":
    results.save(run())
