"""Exercises of chapter 17, the benchmark."""

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import functional, masks

BAND = 0.05
RATIOS = {"A": (0.97, 0.96, 0.98), "B": (0.90, 0.88, 0.91), "C": (0.84, 0.80, 0.99)}
"""Median and quartiles of a ratio of times, with an A/A band of ±5 %."""


def faster() -> set[str]:
    """Those whose upper quartile too lies below the band."""
    return {name for name, (_, _, upper) in RATIOS.items() if upper < 1 - BAND}


def ratio(ours: list[float], raw: list[float]) -> float:
    """The median of the ratios of every round."""
    return statistics.median(a / b for a, b in zip(ours, raw, strict=True))


MISTAKES: dict[Callable[..., Any], str] = {
    lambda ours, raw: statistics.mean(ours) / statistics.mean(raw): (
        "A slow round counts as much as its seconds. Divide within each round first."
    ),
    lambda ours, raw: statistics.median(ours) / statistics.median(raw): (
        "The two medians may come from different rounds, when the machine had another speed."
    ),
    lambda ours, raw: min(ours) / min(raw): (
        "The two shortest may come from different rounds, when the machine had another speed."
    ),
    lambda ours, raw: statistics.mean(a / b for a, b in zip(ours, raw, strict=True)): (
        "One disturbed round moves a mean as far as it likes."
    ),
    lambda ours, raw: ratio(raw, ours): "Below 1 is to be faster: ours over raw.",
}


def _rounds() -> Iterator[dict[str, Any]]:
    yield {"ours": [2.0], "raw": [4.0]}
    yield {"ours": [1.0, 2.0, 9.0], "raw": [2.0, 4.0, 3.0]}  # the last was disturbed
    yield {"ours": [1.0, 8.0, 2.0, 16.0, 1.0], "raw": [1.0, 10.0, 4.0, 20.0, 1.0]}


Run = Callable[[Tensor, Tensor, Tensor], Tensor]


def _right(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention, the function that all have to be."""
    mask = masks.causal.dense(q.shape[-2], k.shape[-2])[None]  # the same for all heads
    return functional.mix(
        functional.softmax(functional.score(q, k, q.shape[-1] ** -0.5), mask), v
    )


def _sdpa(**options: Any) -> Run:
    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

    return run


def _inverted(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    future = ~masks.causal.dense(q.shape[-2], k.shape[-2])
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, future)


def _overflowing(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    powers = (1000 * functional.score(q, k, q.shape[-1] ** -0.5)).exp()
    return powers / powers.sum(-1, keepdim=True) @ v


def _first_only(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    z = _right(q, k, v)
    return torch.cat([z[:1], z[:1].expand_as(z[1:])])


def _one_row_off(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    z = _right(q, k, v).clone()
    z[..., -1, 0] += 0.01
    return z


GOOD: dict[str, Run] = {"the formula": _right, "the kernel": _sdpa(is_causal=True)}
BAD: dict[str, Run] = {
    "one that hides nothing": _sdpa(),
    "one with the mask inverted": _inverted,
    "one that overflows to NaN": _overflowing,
    "one with another scale": _sdpa(is_causal=True, scale=0.4),
    "one that returns the first sequence for all": _first_only,
    "one with a single wrong number in every row": _one_row_off,
    "one that computes in bfloat16": lambda q, k, v: _right(
        q.bfloat16(), k.bfloat16(), v.bfloat16()
    ).float(),
}


def _fault_of_gate(gate: Any) -> Any:
    """What a gate lets through, or keeps out; "" if nothing."""
    if not callable(gate):
        return "Hand over a function that takes an implementation and says True or False."
    for name, run in (GOOD | BAD).items():
        said = gate(run)
        if said is None or said is ...:
            return ...
        if bool(said) != (name in GOOD):
            return f"The gate {'lets in' if said else 'keeps out'} {name}."
    return ""


def draw(*, batch: int = 3, n_tokens: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of two heads of width 4, to try an implementation with."""
    q, k, v = (drawn(batch, 2, n_tokens, 4, seed=seed) for seed in range(3))
    return q, k, v


EXERCISES: dict[str, Exercise] = {
    "believed": Value(
        faster,
        because="Only B's upper quartile lies below 0.95, too.",
        wrong={
            frozenset("ABC"): "The same code differs by 5 % from itself. What is beyond that?",
            frozenset("BC"): "C's upper quartile is 0.99: in a quarter of the rounds no gain.",
            frozenset("AB"): "0.97 lies inside the band.",
            frozenset(
                "C"
            ): "Its median is the lowest, but a quarter of its rounds lie at 0.99.",
        },
    ),
    "ratio_of_rounds": FunctionWithKnownMistakes(
        ratio, _rounds, because="First divide, then take the median.", mistakes=MISTAKES
    ),
    "gate": OpenAnswer(
        _fault_of_gate,
        because=f"{len(GOOD)} came in, {len(BAD)} stayed out, one of them full of NaN.",
    ),
}
