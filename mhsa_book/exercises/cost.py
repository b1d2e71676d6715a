"""Exercises of chapter 15, what it costs."""

from collections.abc import Callable, Iterator
from typing import Any

from mhsa_book import costs
from mhsa_book.costs import hardware, roofline
from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

WIDTH, N_HEADS, N_KV_HEADS = 4096, 32, 8
"""A layer of Llama 3.1 8B."""

CACHED = 131_072


def equal_from() -> int:
    """Tokens at which scores and mix need as many FLOPs as the projections."""
    flops = costs.flops(1, WIDTH, N_HEADS, n_kv_heads=N_KV_HEADS)
    attended = flops["scores"] + flops["z"]  # of one token; they grow with n²
    return (sum(flops.values()) - attended) // attended


def checked_from() -> int | None:
    """Tokens a step from which on scores and mix are compute-bound on an A100."""

    def checking(size: int) -> roofline.Work:
        sizes: dict[str, Any] = {"n_kv_heads": N_KV_HEADS, "n_key": CACHED}
        return roofline.stages(size, WIDTH, N_HEADS, **sizes)["scores + mix"]

    return roofline.compute_bound_from(checking, *hardware.rates("A100 80 GB SXM"))


def _works(batch: int, n_query: int = 1, **changed: int) -> list[roofline.Work]:
    sizes: dict[str, Any] = {"n_kv_heads": 8, "n_key": CACHED, "batch": batch} | changed
    return [*roofline.stages(n_query, 8192, 64, **sizes).values()]


def _seconds(works: list[roofline.Work]) -> list[float]:
    return [roofline.seconds(work, *hardware.rates("H200 SXM")) for work in works]


def least(batch: int) -> float:
    """Seconds that 80 layers of Llama 3.1 70B need at least for a token of each sequence."""
    return 80 * sum(_seconds(_works(batch)))


def _read(batch: int) -> float:
    moved = sum(work.bytes for work in _works(batch))
    return 80 * moved / hardware.rates("H200 SXM").bandwidth


MISTAKES: dict[Callable[..., Any], str] = {
    lambda batch: least(batch) / 80: "That is one layer of 80.",
    lambda batch: 1000 * least(batch): "Those are milliseconds; give seconds.",
    lambda batch: 80 * max(_seconds(_works(batch))): (
        "The stages come one after the other: add up their times."
    ),
    lambda batch: 80 * sum(_seconds(_works(batch, n_kv_heads=64))): (
        "64 heads share 8 heads of keys and values: n_kv_heads=8."
    ),
    lambda batch: 80 * sum(_seconds(_works(batch, n_query=CACHED))): (
        "One token is new, n_query=1; the others are keys."
    ),
    lambda batch: least(1): "The batch changes nothing: hand it to roofline.stages.",
    lambda batch: batch * least(1): "The weights are read once for the whole batch.",
    lambda batch: least(batch) / batch: (
        "That is the time per sequence; give that of the whole step."
    ),
    _read: "With so many sequences the projections no longer wait for memory.",
}
"""Least times that are wrong, and why."""


def _batches() -> Iterator[dict[str, Any]]:
    for batch in (1, 2, 64, 512):
        yield {"batch": batch}


EXERCISES: dict[str, Exercise] = {
    "equal_flops": Value(
        equal_from,
        because="5nd² = 4n²d: at n = 5d/4.",
        wrong={
            8192: "2d is right with four square projections. Here W_K and W_V are narrower.",
            10240: "Scores and mix are two products for every pair: 4n²d.",
            4096: "W_K and W_V cost too, each a quarter of W_Q: 5nd² in all.",
            6144: "8 heads of 32 are a quarter; W_K and W_V cost ½nd² each.",
            3072: "There is a fourth projection, W_O.",
            1024: "That is the length of the question above. Where are the two halves equal?",
        },
    ),
    "checked_at_once": Value(
        checked_from,
        because="4 FLOPs per byte and token of a step: 39 · 4 is the first above 153.",
        wrong={
            None: "More sequences bring their own caches. Let n_query grow, and batch be 1.",
            38: "38 · 4 is 152; the ridge of an A100 is 153.",
            52: "That is where an H200, with its ridge of 206, becomes compute-bound.",
            153: "That is the ridge. Four heads share a key: 4 FLOPs per byte and token.",
            154: "So it would be if every head had its own keys. Here four share one.",
        },
    ),
    "least_seconds": FunctionWithKnownMistakes(
        least,
        _batches,
        because="14 thousandths of a second; in a batch of 64 a token takes 1.55 times less.",
        mistakes=MISTAKES,
    ),
}
