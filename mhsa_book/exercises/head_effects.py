"""Exercises of chapter 12a, weight and effect."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.models.translator import translator
from mhsa_book.transformer import shifted
from mhsa_lib.tracing import edit


def without_encoder() -> float:
    """Nats more that a word of the task "sense" costs without the encoder's heads."""
    model, pairs = translator(), language.pairs(400, seed=11)
    source, target = language.batch(pairs)
    given, wanted = shifted(target)

    def cost() -> float:
        said = model(source, given).log_softmax(dim=-1).gather(-1, wanted[..., None])[..., 0]
        return -said[language.places(pairs, "sense")].mean().item()

    whole = cost()
    with ExitStack() as stack:
        for i in range(len(model.encoder)):
            attention = model.get_submodule(f"encoder.{i}.self_attention")
            stack.enter_context(edit(attention, "z", torch.zeros_like))
        return cost() - whole


def correlation(a: list[float], b: list[float]) -> Tensor:
    """Spearman's rank correlation of two lists without ties."""
    return _of_the_numbers(*(torch.tensor(each).argsort().argsort() for each in (a, b)))


def _of_the_numbers(a: Any, b: Any) -> Tensor:
    return torch.corrcoef(torch.stack([torch.as_tensor(each).double() for each in (a, b)]))[
        0, 1
    ]


def _of_the_order(a: list[float], b: list[float]) -> Tensor:
    return _of_the_numbers(*(torch.tensor(each).argsort() for each in (a, b)))


def lists() -> Iterator[dict[str, Any]]:
    """Pairs of lists; ranks, places in the order and numbers say different things of them."""
    for a, b in (
        ([1.0, 2.0, 3.0], [1.0, 2.0, 9.0]),
        ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
        ([5.0, 1.0, 3.0, 2.0], [4.0, 1.0, 2.0, 9.0]),
        ([0.3, -1.0, 8.0, 2.5, 0.1], [10.0, 30.0, 20.0, -5.0, 0.0]),
    ):
        yield {"a": a, "b": b}


def by_mean(z: Tensor) -> Tensor:
    """Every vector is the mean over all tokens of all sentences."""
    return z.mean(dim=(0, 1)).expand_as(z)


def of_heads() -> Iterator[dict[str, Any]]:
    """z of a head, (sentence, token, d_head)."""
    for shape in ((1, 2, 1), (1, 2, 2), (2, 2, 2), (2, 3, 4)):
        yield {"z": torch.arange(1.0, 1 + torch.Size(shape).numel()).view(shape)}


EXERCISES: dict[str, Exercise] = {
    "without_the_encoder": Value(
        without_encoder,
        because="More than a coin costs: it does not fall back on a half for each sense.",
    ),
    "rank_correlation": FunctionWithKnownMistakes(
        correlation,
        lists,
        because="Only the order counts.",
        mistakes={
            _of_the_numbers: "That is the correlation of the numbers; take their ranks.",
            _of_the_order: "argsort says where the k-th number stands; sort that once more.",
        },
    ),
    "by_its_mean": FunctionWithKnownMistakes(
        by_mean,
        of_heads,
        because="The same vector everywhere: nothing of the sentence is left in it.",
        mistakes={
            lambda z: torch.zeros_like(z): "That is zero ablation.",
            lambda z: z.mean(dim=1, keepdim=True).expand_as(z): (
                "That is each sentence's own mean: it still says something of the sentence."
            ),
            lambda z: z.mean(dim=-1, keepdim=True).expand_as(z): (
                "The columns are averaged, and the tokens stay apart."
            ),
            lambda z: z.mean().expand_as(z): "Every column has a mean of its own.",
        },
    ),
}
