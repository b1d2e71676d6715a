"""Which heads of SmolLM2 name Mary, by attention, direct contribution, ablation and paths?

"When Mary and John went to the store, John gave a drink to": the right name is the one that is
named once, and whoever gives is named twice. What is measured is the *lead*, the logit of the
right name minus that of the giver. Four questions are asked of heads:

- attention: how much of its weight does the last token give to either name?
- direct contribution: how much of the lead does the head write into the last row itself?
- ablation: how does the lead change without it, if zero, its mean over sentences in which who
  gives comes first as often as second, or what it found in the source stands in for it?
- paths: how does the lead change if the head tells only the logits, or only the queries or the
  values of one other head, what it found in the source?

The source of a sentence is the same sentence with a third person who gives: one word differs,
and nobody is named twice. Sixteen heads were named on sentences with the names of ``choosing``,
in the first two templates, and from lab note 1; they are reported on eight other names, in
these two templates and in two that chose nothing.

Before the predictions were written, attention, direct contributions and the paths to the
logits, to queries of six heads and to keys and values of four were looked at on the sentences
of ``choosing``, and the stored numbers of lab note 1 were known. So predictions 1 to 6 say that
what was seen there holds for other names and templates.

``python -m mhsa_book.experiments.whose_heads_name_mary`` runs it, goes on where it was stopped,
and stores the numbers with the commit of this file.

Source: Wang et al., "Interpretability in the Wild", arXiv 2211.00593.
"""

import datetime
import random
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book import models
from mhsa_book.experiments import running, telling, units
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.experiments.telling import Telling
from mhsa_book.experiments.who_gets_the_drink import Names
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.switching import Head
from mhsa_book.results import whose_heads_name_mary as results
from mhsa_book.results.who_gets_the_drink import head as read_name
from mhsa_book.results.who_gets_the_drink import name
from mhsa_book.results.whose_heads_name_mary import MEAN, SOURCE, ZERO, Found

TEMPLATES = ("store", "giver first", "station", "school")
"""Those of lab note 1 that the model knows; the first two are also those that choose."""

CHOOSING = "choosing"

NAMED: dict[str, tuple[Head, ...]] = {
    "write for the right name": ((23, 3), (29, 1), (23, 0), (23, 1), (23, 2)),
    "write against it": ((24, 4), (29, 0)),
    "attend to the right name": ((24, 4), (23, 0), (23, 1), (22, 7)),
    "attend to the giver": ((25, 2), (23, 3), (20, 0)),
    "attend from the giver to the giver": ((8, 1),),
    "tell others": ((20, 0), (19, 2), (17, 4)),
    "cost most in lab note 1": ((0, 0), (23, 3), (16, 0), (18, 0), (17, 4)),
}
"""Why a head is reported. All 270 heads have been looked at for that."""

RECEIVERS = {"L23H0 q": "last", "L20H0 v": "giver second"}
"""Heads that are told something, by which input, and at which token they hear it."""

SCREENED = "station"
"""Where all 270 heads are asked what they tell; elsewhere only those that are named."""

N_OFF = 6
"""At most so many heads are off when it is counted how many it takes."""

PREDICTIONS = (
    "Of all 270 heads L23H3 writes most of the lead into the last row, on every template.",
    "Of all 270 heads L24H4 gives the right name most weight from the last token, on every "
    "template, and what it writes lowers the lead.",
    "L23H3 gives the second name of the giver more than half of its weight, and L23H0 gives "
    "the right name more than twice what it gives the giver's two names together, on every "
    "template.",
    "L23H1 raises the lead by what it writes, but without it the lead grows, in all three "
    "ways.",
    "Of all 270 heads L20H0 tells the queries of L23H0 most, on station too.",
    "Of all 270 heads L17H4 tells the values of L20H0 most, on station too.",
    "Over all 270 heads, what a head writes directly (without its sign) orders what lab note 1 "
    "measured when it is off better than its weight on the two names does.",
    "The heads that were chosen one after the other, at most six, at their mean, leave the "
    "right name ahead on fewer than half of the prompts of every template.",
    "As many heads drawn from the same layers leave it ahead on nine of ten or more.",
    "Without L23H3, of all heads L24H4 is the one whose direct contribution rises most, on "
    "every template.",
)


def named() -> list[Head]:
    """The heads that are reported, each once."""
    return sorted({head for heads in NAMED.values() for head in heads})


def pairs_of(group: str) -> list[tuple[str, Names, str]]:
    """Template, the two names and a third who may give, for every sentence of a group.

    >>> pairs_of("station")[0]
    ('station', ('William', 'Jane'), 'Charles')
    """
    names = drink.CHOOSING if group == CHOOSING else drink.HELD_OUT
    found = []
    for i, pair in enumerate(drink.ring(names)[::2]):
        others = [each for each in names if each not in pair]
        template = TEMPLATES[i % 2] if group == CHOOSING else group
        found.append((template, pair, others[i % len(others)]))
    return found


class Group:
    """Sentences of one length, read at once, and the same with a third person who gives."""

    def __init__(self, lm: LanguageModel, sentences: Sequence[tuple[str, Names, str]]) -> None:
        self.pairs = [pair for _, pair, _ in sentences]
        self.texts = [drink.prompt(t, pair) for t, pair, _ in sentences]
        self.target = telling.read(lm, self.texts)
        self.source = telling.read(lm, [drink.prompt(t, p, third) for t, p, third in sentences])
        answers = torch.tensor([[lm.id(f" {n}") for n in pair] for pair in self.pairs])
        self.telling = Telling(lm, self.target, self.source, answers)
        self.lead = self.telling.ahead(self.target.streams[-1][:, -1])
        tokens = [lm.tokens(text) for text in self.texts]
        self.right = [
            row.index(f" {a}") for row, (a, _) in zip(tokens, self.pairs, strict=True)
        ]
        self.first = [
            row.index(f" {b}") for row, (_, b) in zip(tokens, self.pairs, strict=True)
        ]
        (self.second,) = {
            len(row) - 1 - row[::-1].index(f" {b}")
            for row, (_, b) in zip(tokens, self.pairs, strict=True)
        }

    def weights(self, position: int) -> Tensor:
        """Attention weights of the query at a position: (text, layer, head, key)."""
        found = []
        for q, k, _ in self.target.heard:
            every = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
            scores = (q[:, :, [position]] @ every.mT)[:, :, 0] * q.shape[-1] ** -0.5
            if position != -1:
                scores[..., position + 1 :] = -torch.inf
            found.append(scores.softmax(dim=-1))
        return torch.stack(found, dim=1)


def watched(group: Group) -> dict[str, Any]:
    """What is seen without touching anything, for every head: mean weights, length, writing."""
    last, twice = group.weights(-1), group.weights(group.second)
    at = torch.arange(len(group.texts))
    weights = {
        "right": last[at, :, :, group.right],
        "giver first": last[at, :, :, group.first],
        "giver second": last[:, :, :, group.second],
        "start": last[:, :, :, 0],
        "itself": last[:, :, :, -1],
        "giver to giver": twice[at, :, :, group.first],
    }
    return {
        "lead": _rounded(group.lead),
        "weights": {place: _by_head(w.mean(dim=0)) for place, w in weights.items()},
        "length": _by_head(group.target.z[:, :, :, -1].norm(dim=-1).mean(dim=0)),
        "direct": _each(group.telling.direct()),
    }


def told(group: Group, senders: Iterable[Head]) -> dict[str, dict[str, list[float]]]:
    """What every sender tells each receiver: the change of the lead, by text."""
    found: dict[str, dict[str, list[float]]] = {receiver: {} for receiver in RECEIVERS}
    for sender in senders:
        for receiver, place in RECEIVERS.items():
            head, part = read_name(receiver.split()[0]), receiver[-1]
            if sender[0] < head[0]:
                at = -1 if place == "last" else group.second
                row = group.telling.told(sender, at, last=head[0])[head[0]]
                z = group.telling.heard(head, part, row, at)
                changed = group.telling.answer(head, z) - group.lead
                found[receiver][name(sender)] = _rounded(changed)
    return found


def stand_ins(lm: LanguageModel, group: Group, template: str) -> dict[str, Tensor]:
    """For each way what stands in for z: (1 or text, layer, head, 1 or token, d_head)."""
    over = telling.read(lm, drink.sources(template, drink.BOTH)).z
    return {
        ZERO: torch.zeros_like(over[:1, :, :, :1]),
        MEAN: over.mean(dim=(0, 3), keepdim=True),
        SOURCE: group.source.z,
    }


def lead_without(group: Group, heads: Sequence[Head], instead: Tensor) -> Tensor:
    """The lead, (text), with heads off at every token."""
    return group.telling.ahead(streams_without(group, heads, instead)[0])


def streams_without(
    group: Group, heads: Sequence[Head], instead: Tensor
) -> tuple[Tensor, Tensor]:
    """With heads off: what leaves the last layer at the last token, and every head's z."""
    with torch.no_grad():
        tell, z = group.telling, group.target.z.clone()
        first = min((layer for layer, _ in heads), default=30)
        x = group.target.streams[first]
        for i in range(first, 30):
            layer = tell.layers[i]
            normed = layer.attention_norm(x)
            q, k, v = layer.attention.split(*layer.attention.project(normed, normed))
            new = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=True
            )
            for of_layer, head in heads:
                if of_layer == i:
                    new[:, head] = instead[:, i, head]
            z[:, i] = new
            x = x + layer.attention.W_O(new.transpose(1, 2).flatten(-2))
            x = x + layer.feed_forward(layer.feed_forward_norm(x))
        return x[:, -1], z


def one_after_another(group: Group, instead: Tensor, among: Sequence[Head]) -> list[Head]:
    """Switch off, again and again, the head without which the mean lead is smallest."""
    off: list[Head] = []
    for _ in range(N_OFF):
        left = [head for head in among if head not in off]
        off.append(min(left, key=lambda h: lead_without(group, [*off, h], instead).mean()))
    return off


def drawn_orders(order: Sequence[Head], among: Sequence[Head]) -> list[list[Head]]:
    """Three times as many heads of the same layers, none of which was chosen."""
    draws = []
    for n in range(3):
        at_random, drawn = random.Random(n), list[Head]()
        for layer, _ in order:
            others = [(layer, j) for j in range(9)]
            drawn.append(
                at_random.choice([h for h in others if h not in among and h not in drawn])
            )
        draws.append(drawn)
    return draws


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


@cache
def _group(which: str) -> Group:
    return Group(_model(), pairs_of(which))


@torch.no_grad()
def measured(chosen: dict[str, Any], key: tuple[str, str]) -> dict[str, Any]:
    """One part: what is watched, told, switched off or counted in a group of sentences."""
    part, which = key
    group, lm = _group(which), _model()
    if part == "watched":
        return watched(group)
    if part == "told":
        everyone = [(i, j) for i in range(30) for j in range(9)]
        return told(group, everyone if which == SCREENED else named())
    # For the sentences that choose a mean over one template, in both orders of the names.
    instead_of = stand_ins(lm, group, "store" if which == CHOOSING else which)
    if part == "order":
        among = [head for head in named() if head[0] > 0]
        return {"order": one_after_another(group, instead_of[MEAN], among)}
    if part == "off":
        return {
            way: {
                name(head): _rounded(lead_without(group, [head], instead) - group.lead)
                for head in named()
            }
            for way, instead in instead_of.items()
        }
    if part == "counted":
        return {
            order: {
                way: [
                    _rounded(lead_without(group, heads[:n], instead_of[way]))
                    for n in (range(N_OFF + 1) if order == "chosen" else (N_OFF,))
                ]
                for way in (MEAN, SOURCE)
            }
            for order, heads in chosen.items()
        }
    before = group.telling.direct()
    last, z = streams_without(group, [(23, 3)], instead_of[MEAN])
    return _each(group.telling.direct(z, last) - before)


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 2) for value in values.tolist()]


def _by_head(values: Tensor) -> dict[str, float]:
    """Of every head, from (layer, head)."""
    return {
        f"L{i}H{j}": round(values[i, j].item(), 3)
        for i in range(values.shape[0])
        for j in range(values.shape[1])
    }


def _each(values: Tensor) -> dict[str, list[float]]:
    """Of every head one number a text, from (text, layer, head)."""
    return {
        f"L{i}H{j}": _rounded(values[:, i, j])
        for i in range(values.shape[1])
        for j in range(values.shape[2])
    }


def shortened(numbers: dict[str, list[float]]) -> dict[str, list[float]]:
    """By prompt for the heads that are named, and the mean alone for all others."""
    whole = {name(head) for head in named()}
    return {
        head: values if head in whole else [round(sum(values) / len(values), 3)]
        for head, values in numbers.items()
    }


def run(folder: Path, commit: str, n_processes: int = 1) -> Found:
    """Measure what is not yet kept in ``folder``, and put all of it together.

    ``commit`` is the one that holds the predictions.
    """
    folder, do = folder / f"whose_heads_name_mary-{commit[:12]}", units.done
    key = ("order", CHOOSING)
    first = do(partial(measured, {}), [key], folder, n_processes=1)[key]
    order = [(i, j) for i, j in first["order"]]
    orders = {"chosen": order}
    for n, heads in enumerate(drawn_orders(order, named()), start=1):
        orders[f"drawn {n}"] = heads
    parts = ("watched", "counted", "rises", "off", "told")
    keys = [(part, group) for part in parts for group in TEMPLATES] + [("watched", CHOOSING)]
    found = do(partial(measured, orders), keys, folder, n_processes=n_processes)
    seconds = sum(each.pop("seconds") for each in (first, *found.values()))
    by_part = {
        part: {group: each for (of, group), each in found.items() if of == part}
        for part in parts
    }
    seen, counted, rises, off, tells = by_part.values()
    for each in seen.values():
        each["direct"] = shortened(each["direct"])
    tells = {g: {r: shortened(by) for r, by in of.items()} for g, of in tells.items()}
    rises = {group: shortened(by) for group, by in rises.items()}
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    date = datetime.date.today().isoformat()
    return Found(
        PREDICTIONS, commit, date, machine, SHA256, orders, seen, tells, off, counted, rises
    )


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save(stored)
