"""Exercises of chapter 25, where it goes next."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib import functional
from mhsa_lib.stages import Attend

SINK, OTHER, N_KEY = 0.75, 0.2, 60


def without_the_sink() -> tuple[float, float]:
    """By how much a weight grows when the first key is gone, and what it becomes."""
    weights = torch.tensor([[[SINK, OTHER, 1 - SINK - OTHER]]], dtype=torch.float64)
    left = functional.softmax(weights.log(), torch.tensor([[[False, True, True]]]))[
        0, 0, 1
    ].item()
    return left / OTHER, left


def missed(bias: Any) -> str:
    """Why sigmoids of 60 scores of 0 do not sum to nearly 1 with a bias; "" if they do."""
    if isinstance(bias, bool) or not isinstance(bias, Tensor | int | float):
        return f"A bias is a number, and {type(bias).__name__} is none."
    bias = torch.as_tensor(bias, dtype=torch.float64).detach()
    if bias.numel() != 1:
        return "One number, for all scores."
    total = N_KEY * bias.sigmoid().item()
    if abs(total - 1) < 0.02:
        return ""
    known = {
        -math.log(6): "That is the number for 6 tokens",
        math.log(N_KEY): "The sign has to be the other one",
        1 / N_KEY: "A share of 1/60 is what the sigmoid should give, not what it should get",
        0.0: "Without a bias each sigmoid is 1/2",
    }
    near = [why for number, why in known.items() if abs(bias.item() - number) < 1e-4]
    return f"{near[0] if near else 'Not near enough'}: the row sums to {total:.3g}."


def unlike(quiet: Any) -> str:
    """What is wrong with a stage whose softmax has one more key, of score 0; "" if nothing."""
    if isinstance(quiet, type):
        return "Hand over a stage, not its class: quiet = …(scale=0.5)."
    if not isinstance(quiet, Attend):
        return f"{type(quiet).__name__} is no Attend."
    k = torch.ones(1, 6, 4)
    for said, q, key in (
        ("every score is 0", 0 * k, k),
        ("every score is very low", -20 * k, k),
        ("scores are as they come", drawn(2, 3, 4), drawn(2, 6, 4, seed=1)),
    ):
        if fault := _differs(quiet, q, key):
            return f"Where {said}, {fault}"
    if not quiet.attention_weights(1000 * k, k).isfinite().all():
        return "Right, but for large scores it is NaN: e to the score overflows. Use softmax."
    return ""


def _differs(quiet: Attend, q: Tensor, k: Tensor) -> str:
    scores = functional.score(q, k, quiet.scale)
    wanted = functional.softmax(nn.functional.pad(scores, (0, 1)), None)[..., :-1]
    found = quiet.attention_weights(q, k)
    if not isinstance(found, Tensor):
        return f"attention_weights gives {type(found).__name__}, which is no tensor."
    if found.shape[-1] == wanted.shape[-1] + 1:
        return "there is a column too many: drop the extra key after the softmax."
    if found.shape != wanted.shape:
        return f"the weights are {tuple(found.shape)}, not {tuple(wanted.shape)}."
    if torch.allclose(found, wanted, atol=1e-5):
        return ""
    row, right = found.sum(dim=-1).flatten()[0].item(), wanted.sum(dim=-1).flatten()[0].item()
    if abs(row - 1) < 1e-5:
        return f"a row still sums to 1, not to {right:.3g}."
    if abs(row - right) > 1e-5:
        return f"a row sums to {row:.3g}, not to {right:.3g}."
    return "the row sums are right, but not the weights."


EXERCISES: dict[str, Exercise] = {
    "without_the_sink": Value(
        without_the_sink,
        because="A quarter is left, and the softmax makes it a whole again.",
        wrong={
            (1 / SINK, OTHER / SINK): "Divide by what is left, not by what is gone.",
            (4.0, 0.95): "The factor is right. It holds for every key; none inherits the 0.75.",
            (1.75, 0.35): "What was there is not added to each; all are divided by the rest.",
            (4.0, 0.05): "The factor is right; multiply by it.",
        },
    ),
    "bias_for_sixty": OpenAnswer(missed, because="Sixty sigmoids of about 1/60 each."),
    "quiet": OpenAnswer(
        unlike, because="What a row does not give to keys goes to the one that has no value."
    ),
}
