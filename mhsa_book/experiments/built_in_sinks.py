"""Can a number in the softmax do what the first token does for the heads of SmolLM2?

In the second half of a passage nobody may attend to the first token any more, as if a cache had
thrown it out. Then every head gets a sink as gpt-oss has it: a number that takes part in the
softmax as one more score, and has no value. The model was trained without such numbers, and
nothing is trained here. Three kinds of numbers are tried: one a head, the mean score that the
head gives the first token in passages of the other half of the texts; the same numbers dealt
out to other heads; and one number for all 270 heads.

A pilot on the eight passages of the second half came first: the loss rose by 2.59 nats without
the token, by 0.42 where its weight stayed and handed over nothing, by 0.46 with one number a
head and by 0.48 with their mean for all heads. The predictions were written after it, and
before any other number was seen.

``python -m mhsa_book.experiments.built_in_sinks`` runs it and goes on where it was stopped.

Source: OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", arXiv 2508.10925; Xiao et al.,
"Efficient Streaming Language Models with Attention Sinks", arXiv 2309.17453.
"""

import datetime
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book import models
from mhsa_book.experiments import heads_sorted, running, units
from mhsa_book.models.all_layers import edit_layers
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.results import bootstrap
from mhsa_book.results import measured as results
from mhsa_book.results.bootstrap import Interval
from mhsa_book.results.measured import Measured

AS_ALWAYS, THROWN_OUT = "nothing changed", "thrown out"
KEPT = "hands over nothing"
"""The first token's own score stays, head by head and query by query, without its value."""

A_HEAD, DEALT = "one number a head", "numbers of other heads"

NUMBERS = (-8, -4, -2, 0, 2, 4, 8, 12)
"""The same for all heads."""

PREDICTIONS = (
    "With one number a head the loss rises by less than a quarter of what it rises by without "
    "the token, on average over the passages of each half.",
    "With the numbers of other heads it rises by more than with the right ones; the interval "
    "of the difference, passage by passage, lies above 0.",
    "The best single number for all heads leaves less than a quarter of the rise as well.",
    "The best single number is -2, 0, 2 or 4.",
    "With -8 the loss is within 0.3 nats of what it is without the token: such a sink takes "
    "next to nothing.",
    "With 12 it is higher than with the best number by more than half a nat: such a sink takes "
    "what the heads need for other tokens.",
)


def number(value: int) -> str:
    """Name the way in which all heads have the same number.

    >>> number(4)
    'all heads 4'
    """
    return f"all heads {value}"


WAYS = (AS_ALWAYS, THROWN_OUT, KEPT, A_HEAD, DEALT, *map(number, NUMBERS))


@contextmanager
def sinks(lm: LanguageModel, numbers: Tensor, start: int) -> Iterator[None]:
    """From query ``start`` on, put sinks in the first token's place: numbers (layer, head)."""
    layers = iter(numbers)

    def take_part(scores: Tensor) -> Tensor:
        scores = scores.clone()
        scores[..., start:, 0] = next(layers)[:, None]
        return scores

    with (
        edit_layers(lm, "scores", take_part),
        edit_layers(lm, "weights", heads_sorted.handed_nothing(start)),
    ):
        yield


def mean_scores(lm: LanguageModel, text: str) -> Tensor:
    """The mean score of the first token by tokens of the second half: (layer, head)."""
    found: list[Tensor] = []

    def look(scores: Tensor) -> Tensor:
        found.append(scores[..., scores.shape[-1] // 2 :, 0].mean(dim=-1))
        return scores

    with edit_layers(lm, "scores", look):
        lm.logits(text)
    return torch.stack(found).reshape(lm.n_layers, lm.n_heads)


def loss(lm: LanguageModel, text: str, way: str, numbers: Tensor) -> float:
    """Return the mean loss of the second half of a text in one of ``WAYS``, in nats."""
    if way in heads_sorted.CHANGES:
        return heads_sorted.loss(lm, text, way)
    if way == DEALT:
        order = torch.randperm(numbers.numel(), generator=torch.Generator().manual_seed(0))
        numbers = numbers.flatten()[order].reshape(numbers.shape)
    elif way != A_HEAD:
        numbers = torch.full_like(numbers, float(way.removeprefix("all heads ")))
    with sinks(lm, numbers, len(lm.ids(text)) // 2):
        return heads_sorted.loss(lm, text)


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


@cache
def numbers_from(half: str) -> Tensor:
    """One number a head: its mean score of the first token in the passages of a half."""
    scores = [mean_scores(_model(), text) for text in heads_sorted.passages()[half]]
    return torch.stack(scores).mean(dim=0)


def keys() -> list[tuple[str, int]]:
    """Every passage, as half and place in it."""
    return [
        (half, i) for half, texts in heads_sorted.passages().items() for i in range(len(texts))
    ]


@torch.no_grad()
def measured(key: tuple[str, int]) -> dict[str, Any]:
    """The loss of one passage in every way."""
    half, i = key
    (other,) = set(heads_sorted.HALVES) - {half}
    text = heads_sorted.passages()[half][i]
    losses = {way: round(loss(_model(), text, way, numbers_from(other)), 4) for way in WAYS}
    return {"losses": losses}


def rise(found: Mapping[str, Any], way: str, half: str | None = None) -> Interval:
    """How much the loss rises over all passages, or those of a half, in nats."""
    chosen = [found[each] for each in heads_sorted.HALVES if half in (None, each)]
    return bootstrap.mean_of([row[way] - row[AS_ALWAYS] for rows in chosen for row in rows])


def best_number(found: Mapping[str, Any]) -> int:
    """Return the number for all heads with which the loss rises least."""
    return min(NUMBERS, key=lambda value: rise(found, number(value)).mean)


def verdicts(found: Mapping[str, Any]) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""
    lost = rise(found, THROWN_OUT).mean
    best = best_number(found)
    least = rise(found, number(best)).mean
    rows = [row for half in heads_sorted.HALVES for row in found[half]]
    return (
        all(
            rise(found, A_HEAD, half).mean < rise(found, THROWN_OUT, half).mean / 4
            for half in heads_sorted.HALVES
        ),
        bootstrap.mean_of([row[DEALT] - row[A_HEAD] for row in rows]).low > 0,
        least < lost / 4,
        best in (-2, 0, 2, 4),
        abs(rise(found, number(-8)).mean - lost) < 0.3,
        rise(found, number(12)).mean > least + 0.5,
    )


def run(folder: Path, commit: str, n_processes: int = 1) -> Measured:
    """Measure what is not yet kept in ``folder``, and put all of it together."""
    folder = folder / f"built_in_sinks-{commit[:12]}"
    parts = units.done(measured, keys(), folder, n_processes=n_processes)
    seconds = sum(part["seconds"] for part in parts.values())
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    found: dict[str, Any] = {half: [] for half in heads_sorted.HALVES}
    for (half, _), part in parts.items():
        found[half].append(part["losses"])
    found = {"model": SHA256} | found
    return Measured(PREDICTIONS, commit, datetime.date.today().isoformat(), machine, found)


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save("built_in_sinks", stored)
    running.report(PREDICTIONS, verdicts(stored.found))
