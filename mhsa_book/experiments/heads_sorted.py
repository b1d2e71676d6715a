"""What do the 270 heads of SmolLM2 look at, and why do most rest on the first token?

Four measures sort the heads: the weight on the previous token, on an earlier copy of the same
token (duplicate token), on the token behind such a copy (induction), and on the first token of
the text. Every measure is taken on two halves of texts of one kind, so that what is chosen on
one half can be shown on the other, and on texts of another kind.

Then the first token is taken away: from the beginning, or only behind the middle of a passage,
as if its keys and values were thrown out of a cache. Other tokens are thrown out for
comparison, and in one way the weight on the first token stays and it hands over nothing.

``python -m mhsa_book.experiments.heads_sorted`` runs it, goes on where it was stopped, and
stores every text's numbers with the commit of this file.

Source: Olsson et al., "In-context Learning and Induction Heads", arXiv 2209.11895; Xiao et al.,
"Efficient Streaming Language Models with Attention Sinks", arXiv 2309.17453.
"""

import datetime
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book import measure, models
from mhsa_book.examples import annotated, novel
from mhsa_book.experiments import running, units
from mhsa_book.models.all_layers import edit_layers
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.under_mask import under_mask
from mhsa_book.results import heads_sorted as results
from mhsa_book.results.heads_sorted import Found
from mhsa_book.roles.sorting import best
from mhsa_lib.tracing.hooks import Hooks

PREDICTIONS = (
    "For each of the four measures the five heads that are first on one half of the texts are "
    "among the first eight on the other half.",
    "On the half that chose nothing at least three heads give more than half of their weight "
    "to the previous token, at least three to an earlier copy, and at least three to the token "
    "behind it.",
    "No head gives more than half of its weight to two of these three.",
    "On passages of the novel more than a third of the heads, 90 of 270, give more than half "
    "of their weight to the first token, in both halves and in the sentences of another kind.",
    "Every head that gives more than half of its weight to the token behind a copy, in texts "
    "full of copies, gives more than half of it to the first token in passages of the novel.",
    "Also in passages of the novel, where some words come again, each of the three best "
    "induction heads gives the token behind a copy more than twice what it gives the next one.",
    "In at least 80 of the 90 KV heads the value of the first token is shorter than the median "
    "of the other tokens' values.",
    "Without the first token from the beginning the loss changes by less than 0.1 nats on "
    "average.",
    "If it is thrown out in the middle, the loss rises by more than 1 nat in every passage; if "
    "one other token or eight others are thrown out, by less than 0.1 nats on average.",
    "If its weight stays and what it hands over is nothing, the loss rises by less than half "
    "of what it rises by when it is thrown out.",
    "A later token that can attend to nothing but itself receives more than ten times the "
    "weight that it received before; one that can attend to itself and the first token does "
    "not.",
)
"""Written down after trials on five passages of the novel, one of them among those of the run.
They had shown which way predictions 4 and 7 to 11 go, comparisons included. An earlier
measurement with 40 random words had shown which heads are first for three of the measures, and
that the induction heads have a sink. Nothing had been seen of 1, 3 and 6, of a second half, or
of sentences of another kind."""

HALVES = ("chapters 1 to 14", "chapters 15 to 29")
OTHER = "other sentences"
REPEATED = ("words repeated, first half", "words repeated, second half")
N_TEXTS = 8
"""In each of these five sets of texts."""

N_WORDS = 60
"""Of a passage of the novel."""

PREVIOUS, DUPLICATE, INDUCTION, FIRST = "previous", "duplicate", "induction", "first"
BEHIND = "one behind induction"
"""The next token after the one of induction, with which it is compared."""

SETS = dict.fromkeys((PREVIOUS, DUPLICATE, INDUCTION, FIRST), REPEATED)
SETS |= dict.fromkeys((PREVIOUS, FIRST), HALVES)
"""For every measure the texts that choose heads, and those on which they are shown."""

CHANGES = (
    "nothing changed",
    "never there",
    "thrown out",
    "another thrown out",
    "eight others thrown out",
    "hands over nothing",
)
"""Ways to take the first token, or others, away. The loss is that of the second half."""

ALONE = 20
"""The place of the token that is made to see only itself."""


@cache
def passages() -> dict[str, list[str]]:
    """Eight passages from each half of the novel's chapters, each of 60 words."""
    file = Path(novel.__file__).with_name("pride_and_prejudice.txt")
    whole = file.read_text(encoding="utf-8")
    found = [" ".join(part.split()) for part in whole.split("\n\n")]
    found = [part for part in found if len(part.split()) >= N_WORDS]
    middle = len(found) // 2
    halves = (found[:middle], found[middle:])
    return {
        name: [" ".join(part.split()[:N_WORDS]) for part in half[:: len(half) // N_TEXTS]][
            :N_TEXTS
        ]
        for name, half in zip(HALVES, halves, strict=True)
    }


@cache
def other_texts() -> list[str]:
    """Annotated sentences of another kind, five joined to a text."""
    texts = [sentence.text for sentence in annotated.sentences()]
    return [" ".join(texts[i : i + 5]) for i in range(0, 5 * N_TEXTS, 5)]


def repeated(lm: LanguageModel, name: str, i: int) -> str:
    """A row of random words, and the same row again; it has 20 to 40 words.

    The length differs from text to text, so that no fixed distance leads to a copy.
    """
    draw = random.Random(f"{name} {i}")
    return "".join(2 * draw.sample(_words(lm), draw.randint(20, 40)))


@cache
def _words(lm: LanguageModel) -> list[str]:
    """Words of three letters or more that are one token, with the space in front of them."""
    spelled = [token for token in lm.vocabulary() if token[:1] == " " and len(token) > 3]
    plain = [token for token in spelled if token[1:].isascii() and token[1:].islower()]
    return [token for token in plain if token[1:].isalpha() and lm.tokens(token) == [token]]


def text_of(lm: LanguageModel, name: str, i: int) -> str:
    """One text of a set, by the name of the set."""
    if name in HALVES:
        return passages()[name][i]
    return other_texts()[i] if name == OTHER else repeated(lm, name, i)


def copies(tokens: Sequence[str]) -> Tensor:
    """Which earlier places hold the token of a query: booleans (query, key).

    The first token of the text is left out as a copy, because many heads rest on it.

    >>> copies(["a", "b", "b", "b"]).int()
    tensor([[0, 0, 0, 0],
            [0, 0, 0, 0],
            [0, 1, 0, 0],
            [0, 1, 1, 0]], dtype=torch.int32)
    """
    same = torch.tensor([[a == b for b in tokens] for a in tokens])
    same[:, 0] = False
    return same.tril(-1)


def measures(tokens: Sequence[str], weights: Tensor) -> dict[str, Tensor]:
    """The five numbers of every head (layer, head) for one text.

    A weight is summed over all copies of a query's token and averaged over the queries that
    have a copy. A place counts as *behind a copy* if it is earlier than the query and no copy
    itself. Without copies the numbers are NaN.

    >>> weights = torch.eye(5).roll(-3, 1)[None, None]  # of query 3 to key 0, of 4 to key 1
    >>> found = measures(["a", "b", "c", "d", "b"], weights)
    >>> found["duplicate"].item(), found["induction"].item()
    (1.0, 0.0)
    """
    same = copies(tokens)
    behind = same.roll(1, dims=1).tril(-1) & ~same
    one_more = behind.roll(1, dims=1).tril(-1) & ~same & ~behind
    asks = same.any(dim=1) & behind.any(dim=1) & one_more.any(dim=1)
    found = {
        PREVIOUS: measure.at_offset(weights[..., 1:, 1:], -1),  # the first token counts apart
        FIRST: measure.on_key(weights[..., 1:, :], 0),
    }
    for name, places in ((DUPLICATE, same), (INDUCTION, behind), (BEHIND, one_more)):
        found[name] = (weights * places).sum(dim=-1)[..., asks].mean(dim=-1)
    return found


def hidden(start: int, keys: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """A change of scores: nobody from ``start`` on can attend to these keys, but to itself."""

    def change(scores: Tensor) -> Tensor:
        scores = scores.clone()
        for key in keys:
            scores[..., max(start, key + 1) :, key] = -torch.inf
        return scores

    return change


def handed_nothing(start: int) -> Callable[[Tensor], Tensor]:
    """A change of weights: from ``start`` on the first token's weight carries nothing."""

    def change(weights: Tensor) -> Tensor:
        weights = weights.clone()
        weights[..., start:, 0] = 0
        return weights

    return change


def sees_only(place: int, keys: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """A change of scores: the query at ``place`` can attend to these keys and no other."""

    def change(scores: Tensor) -> Tensor:
        scores = scores.clone()
        others = [key for key in range(scores.shape[-1]) if key not in keys]
        scores[..., place, others] = -torch.inf
        return scores

    return change


def changed(way: str, n: int) -> tuple[str, Callable[[Tensor], Tensor]] | None:
    """The wire that one of ``CHANGES`` changes in a text of ``n`` tokens, and how."""
    middle = n // 2
    others = [*range(middle // 2, middle // 2 + 8)]
    return {
        "never there": ("scores", hidden(1, [0])),
        "thrown out": ("scores", hidden(middle, [0])),
        "another thrown out": ("scores", hidden(middle, others[:1])),
        "eight others thrown out": ("scores", hidden(middle, others)),
        "hands over nothing": ("weights", handed_nothing(middle)),
    }.get(way)


def loss(lm: LanguageModel, text: str, way: str = CHANGES[0]) -> float:
    """The mean loss of the second half of a text, in nats, with one of ``CHANGES``."""
    ids = torch.tensor(lm.ids(text))
    change = changed(way, len(ids))
    if change is None:
        logits = lm.logits(text)
    else:
        with edit_layers(lm, *change):
            logits = lm.logits(text)
    right = logits[:-1].log_softmax(dim=-1).gather(1, ids[1:, None])
    return -right[len(ids) // 2 :].mean().item()


def on_the_one_alone(lm: LanguageModel, text: str, keys: Sequence[int]) -> float:
    """Mean weight on token ``ALONE`` from later ones, if it can attend to ``keys`` only."""
    with edit_layers(lm, "scores", sees_only(ALONE, keys)):
        return lm.attend(text)[1][..., ALONE + 1 :, ALONE].mean().item()


def shorter_values(lm: LanguageModel, text: str) -> int:
    """In how many of the 90 KV heads the first token's value is shorter than the median's."""
    found: list[Tensor] = []
    with Hooks(lm.attention(0)) as hooks:
        for layer in range(lm.n_layers):
            hooks.after(lm.attention(layer).project.W_V, lambda m, a, out: found.append(out))
        lm.logits(text)
    length = torch.cat(found).unflatten(-1, (lm.n_kv_heads, lm.d_head)).norm(dim=-1)
    return int((length[:, 0] < length[:, 1:].median(dim=1).values).sum())


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


@torch.no_grad()
def measured(key: tuple[str, int]) -> dict[str, Any]:
    """All numbers of one text, and for a passage of the novel what the first token is for."""
    name, i = key
    lm = _model()
    text = text_of(lm, name, i)
    found = measures(*lm.attend(text))
    of = (PREVIOUS, FIRST) if name == OTHER else tuple(found)
    numbers = {m: [round(x, 3) for x in found[m].flatten().tolist()] for m in of}
    return {"heads": numbers, "first": _about_the_first(lm, text) if name in HALVES else {}}


def _about_the_first(lm: LanguageModel, text: str) -> dict[str, float]:
    found: dict[str, float] = {way: round(loss(lm, text, way), 4) for way in CHANGES}
    whole = lm.attend(text)[1][..., ALONE + 1 :, :].mean(dim=(0, 1, 2))
    found["on it, as always"] = round(whole[ALONE].item(), 5)
    found["on the first, as always"] = round(whole[0].item(), 5)
    found["on it, seeing only itself"] = round(on_the_one_alone(lm, text, [ALONE]), 5)
    both = on_the_one_alone(lm, text, [0, ALONE])
    found["on it, seeing itself and the first"] = round(both, 5)
    found["shorter values"] = shorter_values(lm, text)
    return found


def kinds_of(table: Tensor, over: float = 0.5) -> list[tuple[int, int]]:
    """The heads above a number, as (layer, head), the largest first."""
    places = table.flatten().argsort(descending=True).tolist()
    return [divmod(i, 9) for i in places if table.flatten()[i] > over]


def verdicts(found: Found) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""
    chose = {m: found.table(halves[0], m) for m, halves in SETS.items()}
    shown = {m: found.table(halves[1], m) for m, halves in SETS.items()}
    three = [{*kinds_of(shown[m])} for m in (PREVIOUS, DUPLICATE, INDUCTION)]
    first = [kinds_of(found.table(name, FIRST)) for name in (*HALVES, OTHER)]
    in_novel = {m: found.table(HALVES[1], m) for m in (INDUCTION, BEHIND)}
    thrown, other, eight = (found.change(way).mean for way in CHANGES[2:5])
    each = zip(found.first["thrown out"], found.first[CHANGES[0]], strict=True)
    at_it = {
        name: found.of_passages(f"on it, {name}").mean
        for name in ("as always", "seeing only itself", "seeing itself and the first")
    }
    return (
        all({*best(chose[m], 5)} <= {*best(shown[m], 8)} for m in SETS),
        min(map(len, three)) >= 3,
        not (three[0] & three[1] or three[0] & three[2] or three[1] & three[2]),
        min(map(len, first)) > 90,
        three[2] <= {*first[1]},
        all(
            in_novel[INDUCTION][head] > 2 * in_novel[BEHIND][head]
            for head in best(chose[INDUCTION], 3)
        ),
        min(found.first["shorter values"]) >= 80,
        abs(found.change("never there").mean) < 0.1,
        min(after - before for after, before in each) > 1 and max(other, eight) < 0.1,
        found.change("hands over nothing").mean < thrown / 2,
        at_it["seeing only itself"]
        > 10 * at_it["as always"]
        >= at_it["seeing itself and the first"],
    )


def again(
    lm: LanguageModel, found: Found, texts: Sequence[tuple[str, int]], losses: Sequence[str]
) -> float:
    """Measure some texts again, and the losses of some changes, one passage for each.

    Returns the largest difference from what is stored. The loss is measured under a mask that
    is put in the place of the causal one, which the run did not use.
    """
    differences = []
    for name, i in texts:
        numbers = measures(*lm.attend(text_of(lm, name, i)))
        for what, stored in found.heads[name].items():
            difference = numbers[what].flatten() - torch.tensor(stored[i])
            differences.append(difference.abs().max().item())
    for i, way in enumerate(losses):
        text = passages()[HALVES[0]][i]
        differences.append(abs(_loss_under_mask(lm, text, way) - found.first[way][i]))
    return max(differences)


def _loss_under_mask(lm: LanguageModel, text: str, way: str) -> float:
    n = len(lm.ids(text))
    change = changed(way, n)
    if change is None:
        return loss(lm, text)
    may = change[1](torch.zeros(n, n)) == 0
    with under_mask(lm, may & torch.ones(n, n).tril().bool()):
        return loss(lm, text)


def run(folder: Path, commit: str, n_processes: int = 1) -> Found:
    """Measure what is not yet kept in ``folder``, and put all of it together.

    ``commit`` is the one that holds the predictions.
    """
    folder = folder / f"heads_sorted-{commit[:12]}"
    names = (*HALVES, OTHER, *REPEATED)
    keys: list[Any] = [(name, i) for name in names for i in range(N_TEXTS)]
    parts = units.done(measured, keys, folder, n_processes=n_processes)
    seconds = sum(part["seconds"] for part in parts.values())
    heads: dict[str, dict[str, list[list[float]]]] = {name: {} for name in names}
    first: dict[str, list[float]] = {}
    for (name, _), part in parts.items():
        for measured_by, values in part["heads"].items():
            heads[name].setdefault(measured_by, []).append(values)
        for what, value in part["first"].items():
            first.setdefault(what, []).append(value)
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    date = datetime.date.today().isoformat()
    return Found(PREDICTIONS, commit, date, machine, SHA256, heads, first)


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save(stored)
    running.report(PREDICTIONS, verdicts(stored))
