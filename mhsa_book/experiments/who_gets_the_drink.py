"""Which heads of SmolLM2 find out who gets the drink, and does that hold for other sentences?

"When Mary and John went to the store, John gave a drink to": the right name is the one that is
named once. Two sets of heads that find it, and three that argue against it, were chosen by an
earlier measurement on sentences of this template. Here every head is switched off alone on the
28 prompts of the first figure, and the sets on names and templates that chose nothing.

``python -m mhsa_book.experiments.who_gets_the_drink`` runs it, in some five minutes, and stores
every prompt's numbers with the commit of this file.

Source: Wang et al., "Interpretability in the Wild", arXiv 2211.00593.
"""

import datetime
import json
import random
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from mhsa_book import models, results
from mhsa_book.experiments import running
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.switching import Head
from mhsa_book.results import bootstrap
from mhsa_book.results.whole import write_whole
from mhsa_lib.tracing.editing import edit

FILE = Path(results.__file__).parent / "data" / "who_gets_the_drink.json"

STORE = "When {} and {} went to the store, {} gave a drink to"
STATION = "After {} and {} left the station, {} handed the ticket to"
SCHOOL = "Yesterday {} and {} worked together at school, and {} wrote a letter to"
GARDEN = "{} and {} had a long talk in the garden. Then {} gave the book to"
TEMPLATES = {"store": STORE, "station": STATION, "school": SCHOOL, "garden": GARDEN}

FOUND_ON = ["Alice", "Tom", "Anna", "James", "Sarah", "David", "Emma", "Peter"]
FOUND_ON += ["Lucy", "Paul", "Kate", "Mark", "Helen", "Jack"]
HELD_OUT = ["George", "Laura", "Henry", "Susan", "Robert", "Nancy", "Daniel", "Julia"]
FIRST_PAGE = ("Mary", "John")

SIX: list[Head] = [(23, 3), (20, 0), (18, 0), (19, 2), (17, 4), (16, 0)]
THREE: list[Head] = [(29, 0), (24, 4), (23, 1)]
SETS = {"four": SIX[:4], "six": SIX, "three negative": THREE}

PREDICTIONS = (
    "Of all heads L23H3, of the four, costs most when it is off alone.",
    "Without L29H0, without L24H4 and without L23H1 the right name is further ahead.",
    "On held-out names and the templates store, station and school, the right name leads on "
    "fewer than half of the prompts without the four, and without the six.",
    "There the right name becomes likelier without the three negative heads.",
    "There it leads on at least nine of ten prompts without any six heads drawn at random.",
    "On the template garden the model hardly knows the answer, so heads have little to lose.",
)
KNOWS = 0.9
"""Share of prompts on which the right name leads, from which on a model knows the answer."""

Names = tuple[str, str]
"""The name that is named once, which is right, and the name of who gives."""


def ring(names: list[str]) -> list[Names]:
    """Each name with the next, in both orders.

    >>> ring(["Ann", "Ben", "Cleo"])[:3]
    [('Ann', 'Ben'), ('Ben', 'Ann'), ('Ben', 'Cleo')]
    """
    beside = zip(names, names[1:] + names[:1], strict=True)
    return [pair for a, b in beside for pair in ((a, b), (b, a))]


def held_out() -> list[Names]:
    """Every two of the eight held-out names once; which of them is right alternates."""
    return [(a, b) if i % 2 else (b, a) for i, (a, b) in enumerate(combinations(HELD_OUT, 2))]


def prompts(template: str, pairs: list[Names]) -> list[str]:
    """One for each pair; the right name always comes first, which is a limit of all this.

    >>> prompts(STORE, [("Mary", "John")])
    ['When Mary and John went to the store, John gave a drink to']
    """
    return [template.format(a, b, b) for a, b in pairs]


def sets() -> dict[str, list[Head]]:
    """The sets that are switched off: the chosen, and four draws of six of the other heads."""
    chosen = {*SIX, *THREE}
    others = [(i, j) for i in range(30) for j in range(9) if (i, j) not in chosen]
    draws = {f"random {n}": sorted(random.Random(n).sample(others, 6)) for n in range(1, 5)}
    return SETS | draws


def hows(template: str) -> tuple[str, ...]:
    """Ways to switch off: names that begin a sentence differ in length, so are not drawn."""
    return ("mean",) if template.startswith("{}") else ("mean", "resample")


def chances(lm: LanguageModel, template: str, pairs: list[Names]) -> list[list[float]]:
    """For every pair the probabilities of the right name and of the wrong one."""
    found = []
    for prompt, names in zip(prompts(template, pairs), pairs, strict=True):
        p = lm.logits(prompt)[-1].softmax(dim=-1)
        found.append([round(p[lm.id(f" {name}")].item(), 6) for name in names])
    return found


@torch.no_grad()
def one_by_one(lm: LanguageModel) -> dict[str, list[float]]:
    """What each head, off alone, changes in the logit difference, right minus wrong.

    The z of the head is its mean over all tokens of the same 28 prompts, as ``lm.without`` has
    it with how="mean". All prompts go at once, and only through the layers behind the head.
    """
    pairs = ring(FOUND_ON)
    texts = prompts(STORE, pairs)
    means = torch.stack([lm.heads(text) for text in texts]).mean(dim=(0, 3))
    names = torch.tensor([[lm.id(f" {name}") for name in pair] for pair in pairs])
    decoder = lm._runner.decoder  # lm takes one text at a time, which is three times as slow

    def behind(x: torch.Tensor, first: int) -> torch.Tensor:
        for layer in decoder.layers[first:]:
            x = layer(x)
        right, wrong = decoder.unembed(x[:, -1]).gather(1, names).T
        return right - wrong

    x = decoder.embed(torch.tensor([lm.ids(text) for text in texts]))
    whole, found = behind(x, 0), dict[str, list[float]]()
    for i in range(lm.n_layers):
        layer: Any = decoder.layers[i]
        for head in range(lm.n_heads):

            def off(z: torch.Tensor, mean: torch.Tensor = means[i, head], h: int = head) -> Any:
                changed = z.clone()
                changed[:, h] = mean
                return changed

            with edit(layer.attention, "z", off):
                change = behind(x, i) - whole
            found[f"L{i}H{head}"] = [round(value, 4) for value in change.tolist()]
        x = layer(x)
    return {"all on": [round(value, 4) for value in whole.tolist()]} | found


def sets_off(lm: LanguageModel, template: str) -> dict[str, Any]:
    """Chances of the held-out names with every set off, by its mean and by resampling."""
    pairs, texts = held_out(), prompts(template, ring(FOUND_ON[:6]))
    found: dict[str, Any] = {"all on": chances(lm, template, pairs)}
    for how in hows(template):
        for name, heads in sets().items():
            with lm.without(heads, how=how, over=texts):
                found[f"{name}, {how}"] = chances(lm, template, pairs)
    return found


def first_page(lm: LanguageModel) -> dict[str, list[float]]:
    """Chances of Mary and John in the sentence of the first page."""
    over, found = prompts(STORE, ring(FOUND_ON)), {}
    off = SETS | {"none": [], "nine": SIX + THREE, "L24H4": [(24, 4)]}
    for name, heads in off.items():
        with lm.without(heads, how="mean", over=over):
            found[name] = chances(lm, STORE, [FIRST_PAGE])[0]
    return found


def measured(part: str) -> Any:
    """One part: "heads", "first page", or the name of a template."""
    torch.set_num_threads(1)
    lm = models.load("SmolLM2-135M")
    if part == "heads":
        return one_by_one(lm)
    return first_page(lm) if part == "first page" else sets_off(lm, TEMPLATES[part])


def interval(values: list[float]) -> list[float]:
    """Mean, and the ends of a 95 % interval by drawing prompts again."""
    return [round(x, 4) for x in bootstrap.mean(torch.tensor(values), torch.ones(len(values)))]


def summary(found: list[list[float]]) -> dict[str, Any]:
    """How often the right name leads, with Wilson's interval, and how likely it is."""
    from scipy.stats import binomtest

    n_right = sum(right > wrong for right, wrong in found)
    ends = binomtest(n_right, len(found)).proportion_ci(method="wilson")
    leads = [round(x, 4) for x in (n_right / len(found), ends.low, ends.high)]
    return {"leads": leads, "p": interval([right for right, _ in found])}


def said(heads: dict[str, Any], held: dict[str, Any]) -> list[str]:
    """What came of the predictions, and where nothing can be said."""
    alone = {name: value for name, value in heads.items() if name != "all on"}
    costliest = sorted(alone, key=lambda name: alone[name][0])[:5]
    helped = [name for name in alone if alone[name][1] > 0]
    found = [
        f"Off alone, these cost most: {', '.join(costliest)}.",
        f"Without each of {len(helped)} heads alone the right name is further ahead.",
    ]
    for template, by_set in held.items():
        share = by_set["all on"]["leads"][0]
        if share < KNOWS:
            found.append(
                f"{template}: the right name leads on {share:.0%} of the prompts with every "
                f"head on; the model hardly knows the answer, so nothing is said of heads."
            )
            continue
        for how in hows(TEMPLATES[template]):
            leads = {name: by_set[f"{name}, {how}"]["leads"][0] for name in sets()}
            drawn = min(value for name, value in leads.items() if "random" in name)
            likelier = by_set[f"three negative, {how}"]["p"][1] > by_set["all on"]["p"][2]
            found.append(
                f"{template}, {how}: the right name leads on {leads['four']:.0%} without the "
                f"four, {leads['six']:.0%} without the six, and on at least {drawn:.0%} with "
                f"six drawn heads off; without the three negative heads it is "
                f"{'' if likelier else 'not clearly '}likelier."
            )
    return found


def main() -> None:
    """Measure everything, in two processes, and store it."""
    commit, began = running.predictions_commit(Path(__file__)), perf_counter()
    parts = ["heads", *TEMPLATES, "first page"]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        raw = dict(zip(parts, pool.map(measured, parts), strict=True))
    heads = {name: interval(values) for name, values in raw["heads"].items()}
    held = {t: {k: summary(v) for k, v in raw[t].items()} for t in TEMPLATES}
    seconds = {"seconds": round(perf_counter() - began), "processes": 2}
    whole = {
        "predictions": PREDICTIONS,
        "commit": commit,
        "date": datetime.date.today().isoformat(),
        "machine": running.machine() | seconds,
        "model": SHA256,
        "sets": sets(),
        "said": said(heads, held),
        "heads": heads,
        "held out": held,
        "first page": raw.pop("first page"),
        "raw": raw,
    }
    write_whole(FILE, json.dumps(whole, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
