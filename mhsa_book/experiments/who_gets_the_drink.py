"""Which heads of SmolLM2 find out who gets the drink, and does that hold for other sentences?

"When Mary and John went to the store, John gave a drink to": the right name is the one that is
named once. Two sets of heads that find it, and three heads that argue against it, were chosen
by an earlier measurement, on sentences of this template alone. Here every head is switched off
alone, sets are chosen once more by a rule on one half of the prompts, and all sets are reported
on names and templates that chose nothing, beside sets that are drawn.

A head is switched off in three ways: by its mean over sentences of the same kind, by what it
found in one of them, which is drawn ("resample"), and by what it found in a sentence in which a
third person gives, so that nobody is named twice ("resample, a third gives"). The first page
has a mean over sentences in which who gives is named first as often as second. That way, "mean,
both orders", was added after the run, because the planned mean turned out to be another; no
prediction speaks of it.

``python -m mhsa_book.experiments.who_gets_the_drink`` runs it, goes on where it was stopped,
and stores every prompt's numbers with the commit of this file.

Source: Wang et al., "Interpretability in the Wild", arXiv 2211.00593.
"""

import datetime
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book import models
from mhsa_book.experiments import running, units
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.switching import Head
from mhsa_book.results import who_gets_the_drink as results
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.tables import Table
from mhsa_book.results.who_gets_the_drink import (
    ALL_ON,
    BOTH,
    HOWS,
    MEAN,
    RESAMPLE,
    THIRD,
    Found,
)
from mhsa_lib.tracing.editing import edit

TEMPLATES = {
    "store": "When {} and {} went to the store, {} gave a drink to",
    "giver first": "When {} and {} went to the store, {} gave a drink to",
    "station": "After {} and {} left the station, {} handed the ticket to",
    "school": "Yesterday {} and {} worked together at school, and {} wrote a letter to",
    "garden": "{} and {} had a long talk in the garden. Then {} gave the book to",
}
"""In "giver first" whoever gives is named first of the two, in all others second."""

PAGE_NAMES = ["Alice", "Tom", "Anna", "James", "Sarah", "David", "Emma", "Peter"]
PAGE_NAMES += ["Lucy", "Paul", "Kate", "Mark", "Helen", "Jack"]
"""Those on which the sets of the first page were chosen."""

CHOOSING = ["Alice", "Tom", "Anna", "James", "Sarah", "David", "Peter"]
OTHER_HALF = ["Emma", "Lucy", "Paul", "Kate", "Mark", "Helen", "Jack"]
HELD_OUT = ["William", "Jane", "Charles", "Elizabeth", "Arthur", "Emily", "Simon", "Marie"]
"""Like those of ``CHOOSING`` one token each, also where they begin a sentence, because texts
that are drawn from have to be as long as the prompt."""

FIRST_PAGE = ("Mary", "John")

SIX: list[Head] = [(23, 3), (20, 0), (18, 0), (19, 2), (17, 4), (16, 0)]
THREE: list[Head] = [(29, 0), (24, 4), (23, 1)]
PAGE_SETS = {"four": SIX[:4], "six": SIX, "three negative": THREE}

PREDICTIONS = (
    "Of all 270 heads L23H3 costs most when it is off alone, on the half that chose nothing.",
    "Without L29H0, without L24H4 and without L23H1, each alone, the right name is further "
    "ahead there.",
    "Of the six heads that cost most on the choosing half, three or more are among the six of "
    "the first page.",
    "At their mean, the four leave the right name ahead on fewer than half of the held-out "
    "prompts, and so do the six, on every template that the model knows.",
    "Resampled from sentences of the same kind, the six leave it ahead on more than half, "
    "because these sentences agree in which of the two names comes first.",
    "Resampled from sentences in which a third person gives, the six leave it ahead on fewer "
    "than three quarters.",
    "Without the three negative heads the right name is likelier, in all three ways.",
    "Without any of the six sets of six that are drawn it leads on nine of ten or more, in all "
    "three ways.",
    "The template garden the model does not know, because there the right name is the first "
    "token, at which most heads rest.",
)
PLANNED = (MEAN, RESAMPLE, THIRD)
"""The ways of which the predictions speak."""

MEANS = (MEAN, BOTH)

KNOWS = 0.9
"""Share of prompts on which the right name leads, from which on a model knows the answer."""

FIRST_LAYERS = range(0, 30, 5)
"""Heads are switched off alone in units of five layers."""

Names = tuple[str, str]
"""The name that is named once, which is right, and the name of who gives."""


def ring(names: Sequence[str]) -> list[Names]:
    """Each name with the next, in both orders.

    >>> ring(["Ann", "Ben", "Cleo"])[:3]
    [('Ann', 'Ben'), ('Ben', 'Ann'), ('Ben', 'Cleo')]
    """
    beside = zip(names, [*names[1:], *names[:1]], strict=True)
    return [pair for a, b in beside for pair in ((a, b), (b, a))]


def held_out() -> list[Names]:
    """Every two of the eight held-out names once; which of them is right alternates."""
    return [(a, b) if i % 2 else (b, a) for i, (a, b) in enumerate(combinations(HELD_OUT, 2))]


def prompt(
    template: str, names: Names, gives: str | None = None, *, swapped: bool = False
) -> str:
    """A sentence in which the second of two names gives, or a third.

    ``swapped`` names the two in the order that the template has not.

    >>> prompt("store", ("Mary", "John"))
    'When Mary and John went to the store, John gave a drink to'
    >>> prompt("giver first", ("Mary", "John"), "Ann")
    'When John and Mary went to the store, Ann gave a drink to'
    """
    right, wrong = names
    both = (wrong, right) if (template == "giver first") != swapped else (right, wrong)
    return TEMPLATES[template].format(*both, gives or wrong)


def sources(template: str, how: str, names: Sequence[str] = CHOOSING) -> list[str]:
    """The sentences from which what stands in for a head is taken: none is a prompt.

    >>> sources("store", "resample, a third gives")[0]
    'When Alice and Tom went to the store, Anna gave a drink to'
    """
    pairs = ring(names)
    if how == BOTH:
        orders = (False, True)
        return [prompt(template, pair, swapped=s) for pair in pairs[::2] for s in orders]
    third = [*names[2:], *names[:2]] if how == THIRD else [None] * len(names)
    gives = [name for name in third for _ in range(2)]
    return [prompt(template, pair, name) for pair, name in zip(pairs, gives, strict=True)]


def drawn(n: int) -> list[int]:
    """For each of n prompts the source that is drawn, the same in every set and template."""
    return random.Random(0).choices(range(2 * len(CHOOSING)), k=n)


def page_sets() -> dict[str, list[Head]]:
    """Sets known beforehand: the page's, and six others, anywhere and in the same layers."""
    layers = sorted({layer for layer, _ in SIX})
    others = [(i, j) for i in range(30) for j in range(9) if (i, j) not in {*SIX, *THREE}]
    draws: dict[str, list[Head]] = {}
    for n in range(1, 4):
        at_random = random.Random(n)
        draws[f"anywhere {n}"] = sorted(at_random.sample(others, 6))
        of_layers = [[head for head in others if head[0] == layer] for layer in layers]
        draws[f"same layers {n}"] = [at_random.choice(heads) for heads in of_layers]
    return PAGE_SETS | draws


class Prompts:
    """Texts of one length, in the model at once, with the stream in front of every layer.

    ``LanguageModel`` takes one text at a time, which is three times as slow. Raises
    ``ValueError`` for texts of different lengths.
    """

    def __init__(self, lm: LanguageModel, texts: Sequence[str], names: Sequence[Names]) -> None:
        ids = [lm.ids(text) for text in texts]
        if len({len(each) for each in ids}) > 1:
            raise ValueError(
                f"the texts have {sorted({len(each) for each in ids})} tokens; choose names "
                f"that are one token where they stand."
            )
        self._decoder = lm._runner.decoder
        self._answers = torch.tensor([[lm.id(f" {name}") for name in pair] for pair in names])
        x, self._streams = self._decoder.embed(torch.tensor(ids)), list[Tensor]()
        for layer in self._decoder.layers:
            self._streams.append(x)
            x = layer(x)
        self._streams.append(x)

    def log_chances(self, heads: Iterable[Head] = (), instead: Any = None) -> list[list[float]]:
        """For every prompt the log-probabilities of the right name and of the wrong one.

        ``instead`` is what stands in for the z of heads that are off, (text, layer, head,
        token, d_head), with sizes of 1 where it is the same for all.
        """
        heads, layers = [*heads], [*self._decoder.layers]
        first = min((layer for layer, _ in heads), default=len(layers))
        x = self._streams[first]
        for i in range(first, len(layers)):
            off = [head for layer, head in heads if layer == i]
            attention: Any = layers[i].attention
            with edit(attention, "z", _off(off, instead[:, i])) if off else nullcontext():
                x = layers[i](x)
        chances = self._decoder.unembed(x[:, -1]).log_softmax(dim=-1)
        return [[round(p, 4) for p in row] for row in chances.gather(1, self._answers).tolist()]


def _off(heads: list[int], instead: Tensor) -> Callable[[Tensor], Tensor]:
    def change(z: Tensor) -> Tensor:
        changed = z.clone()
        changed[:, heads] = instead[:, heads]
        return changed

    return change


def found_in(lm: LanguageModel, texts: Sequence[str]) -> Tensor:
    """The z of every head, (text, layer, head, token, d_head)."""
    return torch.stack([lm.heads(text) for text in texts])


def stands_in(z: Tensor, how: str, n: int) -> Tensor:
    """What stands in for heads that are off in each of n prompts, from their z in sources."""
    return z.mean(dim=(0, 3), keepdim=True) if how in MEANS else z[drawn(n)]


def one_by_one(lm: LanguageModel, layers: Iterable[int]) -> dict[str, Any]:
    """What each head of some layers, off alone, changes in the logit difference.

    Of right minus wrong, first for the prompts that choose, then for those of other names, in
    each of which one name is right; at the mean over the sentences that choose.
    """
    pairs = ring(CHOOSING)[::2] + ring(OTHER_HALF)[::2]
    both = Prompts(lm, [prompt("store", pair) for pair in pairs], pairs)
    instead = stands_in(found_in(lm, sources("store", MEAN)), MEAN, len(pairs))

    def ahead(*heads: Head) -> list[float]:
        return [right - wrong for right, wrong in both.log_chances(heads, instead)]

    whole, found = ahead(), dict[str, list[float]]()
    for head in [(layer, j) for layer in layers for j in range(lm.n_heads)]:
        changed = zip(ahead(head), whole, strict=True)
        found[results.name(head)] = [round(after - before, 3) for after, before in changed]
    return found


def sets_off(
    lm: LanguageModel, template: str, how: str, sets: dict[str, list[Head]]
) -> dict[str, Any]:
    """Log-chances of the held-out names with every head on, and with every set off."""
    pairs = held_out()
    prompts = Prompts(lm, [prompt(template, pair) for pair in pairs], pairs)
    instead = stands_in(found_in(lm, sources(template, how)), how, len(pairs))
    off = {name: prompts.log_chances(heads, instead) for name, heads in sets.items()}
    return {ALL_ON: prompts.log_chances()} | off


def first_page(lm: LanguageModel, how: str) -> dict[str, Any]:
    """Log-chances of Mary and John in the sentence of the first page, one for each source.

    Means are over 28 sentences with the page's names. The other sources are as elsewhere.
    """
    texts = sources("store", how, PAGE_NAMES if how in MEANS else CHOOSING)
    z = found_in(lm, texts)
    instead = stands_in(z, how, 1) if how in MEANS else z
    sentence = prompt("store", FIRST_PAGE)
    page = Prompts(lm, [sentence] * len(instead), [FIRST_PAGE] * len(instead))
    sets = PAGE_SETS | {"nine": SIX + THREE, "L24H4": [(24, 4)]}
    off = {name: page.log_chances(heads, instead) for name, heads in sets.items()}
    return {ALL_ON: page.log_chances()[:1]} | off


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


@torch.no_grad()
def measured(sets: dict[str, list[Head]], key: tuple[Any, ...]) -> dict[str, Any]:
    """One part: ("heads", first of five layers), ("page", way) or (template, way)."""
    part, which = key
    if part == "heads":
        return one_by_one(_model(), range(which, which + 5))
    return (
        first_page(_model(), which) if part == "page" else sets_off(_model(), part, which, sets)
    )


def by_rule(heads: dict[str, list[float]]) -> dict[str, list[Head]]:
    """The six heads that cost most on the half that chooses, and the three that help most."""
    half = len(CHOOSING)
    means = {name: sum(changes[:half]) / half for name, changes in heads.items()}
    ranked = [results.head(name) for name in sorted(means, key=lambda name: means[name])]
    return {"six by rule": ranked[:6], "three by rule": ranked[:-4:-1]}


def verdicts(found: Found) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""
    known = [t for t in TEMPLATES if found.leads(t).mean >= KNOWS]
    alone = {name: found.alone(name).mean for name in found.heads}
    ways = [(template, how) for template in known for how in PLANNED]

    def leads(name: str, how: str) -> list[float]:
        return [found.leads(template, name, how).mean for template in known]

    six = found.sets["six by rule"]
    return (
        min(alone, key=lambda name: alone[name]) == "L23H3",
        all(found.alone(results.name(head)).low > 0 for head in THREE),
        sum(head in SIX for head in map(tuple, six)) >= 3,
        max(leads("four", MEAN) + leads("six", MEAN)) < 1 / 2,
        min(leads("six", RESAMPLE)) > 1 / 2,
        max(leads("six", THIRD)) < 3 / 4,
        all(found.gain(template, "three negative", how).low > 0 for template, how in ways),
        all(min(leads(name, how)) >= KNOWS for name in drawn_sets(found) for how in PLANNED),
        "garden" not in known,
    )


def drawn_sets(found: Found) -> list[str]:
    """Names of the sets of six that were drawn."""
    return [name for name in found.sets if name[-1].isdigit()]


def table(found: Found) -> Table:
    """A row for every template and way: the planned comparisons, with their intervals."""
    rows = []
    for template in TEMPLATES:
        for how in HOWS:
            leads = partial(found.leads, template, how=how)
            drawn_leads = [leads(name).mean for name in drawn_sets(found)]
            shares = [_share(leads(name)) for name in ("four", "six", "six by rule")]
            spread = f"{min(drawn_leads):.2f} to {max(drawn_leads):.2f}"
            gain = found.gain(template, "three negative", how)
            rows.append(
                (f"{template}, {how}", _share(leads(ALL_ON)), *shares, spread, str(gain))
            )
    off = ("four off", "six off", "six by rule off", "six drawn sets off", "three negative off")
    head = ("template, way", "all on", *off)
    caption = (
        "Share of 28 held-out prompts on which the right name leads, with Wilson's 95 % "
        "interval; of the drawn sets the lowest and the highest share. Last column: by how "
        "much the probability of the right name rises, with a bootstrap interval over prompts."
    )
    return Table(caption, head, tuple(rows))


def _share(interval: Interval) -> str:
    return f"{interval.mean:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def part(found: Found) -> list[tuple[str, str, str]]:
    """A twentieth of all templates, ways and sets: both ways to resample in every template."""
    ways = [(template, how) for template in TEMPLATES for how in (RESAMPLE, THIRD)]
    ways += [("store", MEAN), ("school", BOTH)]
    names = [*found.sets]
    return [(*way, names[3 * i % len(names)]) for i, way in enumerate(ways)]


def again(
    lm: LanguageModel, found: Found, cells: Iterable[tuple[str, str, str]], at: int = 0
) -> float:
    """Measure one prompt of some cells again, and return the largest difference.

    Here ``lm.without`` switches the heads off, one text at a time. The run did not use it.
    """
    pair, differences = held_out()[at], []
    for template, how, name in cells:
        texts = sources(template, how)
        over = texts if how in MEANS else [texts[drawn(len(held_out()))[at]]]
        heads = [(layer, head) for layer, head in found.sets[name]]
        with lm.without(heads, "mean" if how in MEANS else "resample", over):
            chances = lm.logits(prompt(template, pair))[-1].log_softmax(dim=-1)
        stored = found.held_out[template][how][name][at]
        differences += [
            abs(chances[lm.id(f" {each}")].item() - value)
            for each, value in zip(pair, stored, strict=True)
        ]
    return max(differences)


def run(folder: Path, commit: str, n_processes: int = 2) -> Found:
    """Measure what is not yet kept in ``folder``, and put all of it together.

    ``commit`` is the one that holds the predictions.
    """
    folder, do = folder / f"who_gets_the_drink-{commit[:12]}", units.done
    keys: list[Any] = [("heads", layer) for layer in FIRST_LAYERS]
    parts = do(partial(measured, {}), keys, folder, n_processes=n_processes)
    seconds = sum(part.pop("seconds") for part in parts.values())
    heads = {name: changes for key in keys for name, changes in parts[key].items()}
    sets = page_sets() | by_rule(heads)
    keys = [(part, how) for part in (*TEMPLATES, "page") for how in HOWS]
    parts = do(partial(measured, sets), keys, folder, n_processes=n_processes)
    seconds += sum(part.pop("seconds") for part in parts.values())
    of = {part: {how: parts[part, how] for how in HOWS} for part, _ in keys}
    page = of.pop("page")
    date = datetime.date.today().isoformat()
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    return Found(PREDICTIONS, commit, date, machine, SHA256, sets, heads, of, page)


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save(stored)
    running.report(PREDICTIONS, verdicts(stored))
