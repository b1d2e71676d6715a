"""Exercises of chapter 16, the fused kernel."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib import masks

N_TOKENS, BLOCK = 2048, 128


def blocks() -> tuple[int, int]:
    """Blocks in which some query may look at some key, and all blocks."""
    allowed = masks.causal.dense(N_TOKENS, N_TOKENS)
    cut = allowed.unflatten(-1, (-1, BLOCK)).unflatten(0, (-1, BLOCK)).any(3).any(1)
    return int(cut.sum()), cut.numel()


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, block: int) -> Tensor:
    """What `online` makes of a mask, whatever the block: softmax of the scores, and mix."""
    return (q @ k.mT).masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v


def _online(line: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The loop of the chapter with a line of scores and a mask."""

    def run(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, block: int) -> Any:
        largest, total, z = torch.tensor(-torch.inf), torch.tensor(0.0), torch.tensor(0.0)
        for K, V, M in zip(k.split(block), v.split(block), mask.split(block, 1), strict=True):
            scores = line(q @ K.mT, M)
            higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
            keep, powers = (largest - higher).exp(), (scores - higher).exp()
            total = keep * total + powers.sum(-1, keepdim=True)
            z, largest = keep * z + powers @ V, higher
        return z / total

    return run


UNMASKED: dict[Callable[..., Any], str] = {
    _online(lambda s, M: s): "The mask changes nothing.",
    _online(lambda s, M: s * M): "A forbidden score of 0 still has a power: e⁰ is 1.",
    _online(lambda s, M: s + M): "Adding 1 or 0 forbids nothing.",
    _online(lambda s, M: s.masked_fill(M, -torch.inf)): "True means: may look.",
    lambda q, k, v, mask, block: masked(q / q.shape[-1] ** 0.5, k, v, mask, block): (
        "The loop has no factor; who calls it divides q."
    ),
}
"""Masked loops that are wrong, and why."""


def merge(z_a: Tensor, log_a: Tensor, z_b: Tensor, log_b: Tensor) -> Tensor:
    """The z of two parts of the keys, each with its share of the whole total."""
    return torch.lerp(z_b, z_a, torch.sigmoid(log_a - log_b))


def _weighed(z_a: Tensor, a: Tensor, z_b: Tensor, b: Tensor) -> Tensor:
    return (a * z_a + b * z_b) / (a + b)


UNMERGED: dict[Callable[..., Any], str] = {
    lambda z_a, log_a, z_b, log_b: z_a + z_b: "Both z are means; their sum is none.",
    lambda z_a, log_a, z_b, log_b: (z_a + z_b) / 2: "The larger total has the larger share.",
    lambda z_a, log_a, z_b, log_b: merge(z_b, log_a, z_a, log_b): "The shares are exchanged.",
    lambda z_a, log_a, z_b, log_b: log_a.exp() * z_a + log_b.exp() * z_b: (
        "Divide by the whole total."
    ),
    lambda z_a, log_a, z_b, log_b: _weighed(z_a, log_a, z_b, log_b): (
        "The shares are those of the totals, not of their logarithms."
    ),
    lambda z_a, log_a, z_b, log_b: _weighed(z_a, log_a.exp(), z_b, log_b.exp()): (
        "e¹⁰⁰ is infinite in 32 bits. Subtract the larger logarithm before you take powers."
    ),
}
"""Merged parts that are wrong, and why."""


def _texts() -> Iterator[dict[str, Any]]:
    for n, d_head, block in ((1, 1, 1), (2, 1, 2), (2, 2, 1), (4, 2, 2), (5, 4, 2), (9, 4, 3)):
        parts = zip("qkv", (drawn(n, d_head, seed=seed) for seed in range(3)), strict=True)
        yield {**dict(parts), "mask": masks.causal.dense(n, n), "block": block}
    holes = drawn(4, 4, seed=3) > 0
    holes[:, 0] = True  # every query sees a key of the first block
    yield {
        **{name: drawn(4, 2, seed=i) for i, name in enumerate("qkv")},
        "mask": holes,
        "block": 2,
    }


def _parts() -> Iterator[dict[str, Any]]:
    for logs in ((0.0, math.log(3)), (2.0, -1.0), (100.0, 101.0)):
        log_a, log_b = (torch.tensor([[log]]) for log in logs)
        z_a, z_b = torch.tensor([[1.0]]), torch.tensor([[5.0]])
        yield {"z_a": z_a, "log_a": log_a, "z_b": z_b, "log_b": log_b}
    wide, narrow = (2, 3, 4), (2, 3, 1)
    yield {
        **{"z_a": drawn(*wide), "log_a": drawn(*narrow, seed=1)},
        **{"z_b": drawn(*wide, seed=2), "log_b": drawn(*narrow, seed=3)},
    }


EXERCISES: dict[str, Exercise] = {
    "causal_blocks": Value(
        blocks,
        because="16 blocks on the diagonal, computed whole, and 16 · 15 / 2 below it.",
        wrong={
            (128, 256): "Half of the pairs, but the blocks on the diagonal are computed whole.",
            (120, 256): "Those lie below the diagonal. The blocks on it are needed too.",
            (36, 64): "That is with blocks of 256. Smaller blocks are more.",
            (256, 136): "First those that are computed, then all.",
            (136, 120): "120 is what is skipped. Out of how many blocks in all?",
            (16, 256): "Those lie on the diagonal. What lies below it is needed too.",
        },
    ),
    "masked_online": FunctionWithKnownMistakes(
        masked,
        _texts,
        because="A forbidden score is −∞ and its power 0, whatever the block.",
        mistakes=UNMASKED,
    ),
    "merge": FunctionWithKnownMistakes(
        merge,
        _parts,
        because="Two shares of one whole, also where the totals themselves are too large.",
        mistakes=UNMERGED,
    ),
}
