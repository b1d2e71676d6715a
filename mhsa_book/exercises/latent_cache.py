"""Exercises of chapter 19, the latent cache."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book.costs import configurations
from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

MEMORY = 60 * 2**30


def tokens() -> int:
    """Tokens whose latents fit into the memory."""
    return MEMORY // configurations.DEEPSEEK_V3.cache_bytes(1)


def absorbed(q: Tensor, W_UK: Tensor, latents: Tensor) -> Tensor:
    """Scores of a head's queries with keys that are never made."""
    return (q @ W_UK.mT) @ latents.mT


def _made(q: Tensor, W_UK: Tensor, latents: Tensor) -> Tensor:
    """What the scores have to be, with keys made from every latent."""
    return q @ (latents @ W_UK).mT


MISTAKES: dict[Callable[..., Any], str] = {
    lambda q, W_UK, latents: (q @ W_UK) @ latents.mT: (
        "W_UK goes from a latent to a key. A query goes the other way: transpose it."
    ),
    lambda q, W_UK, latents: (q @ W_UK.mT @ latents.mT).softmax(-1): "Scores, not weights.",
    lambda q, W_UK, latents: latents @ (q @ W_UK.mT).mT: "One row for each query, please.",
}


def _heads() -> Iterator[dict[str, Any]]:
    for n, d, d_latent in ((1, 1, 1), (1, 2, 2), (2, 2, 3), (3, 4, 4), (2, 3, 5)):
        yield {
            **{"q": drawn(n, d), "W_UK": drawn(d_latent, d, seed=1)},
            "latents": drawn(n + 1, d_latent, seed=2),
        }


def _fault_of_latent(compress: Any) -> Any:
    """What is wrong with (W_DKV, W_up) for [W_K W_V] and a width; "" if nothing."""
    if not callable(compress):
        return "Hand over a function of a matrix and a width."
    for d_model, d_kv, width in ((2, 2, 1), (6, 8, 3), (8, 6, 8)):
        W = drawn(d_model, d_kv, seed=width).double()
        found = compress(W, width)
        if found is None or found is ...:
            return ...
        if not isinstance(found, tuple | list) or len(found) != 2:
            return "Return two matrices: down to the latent, and up again."
        down, up = found
        for name, M, shape in (("down", down, (d_model, width)), ("up", up, (width, d_kv))):
            if not isinstance(M, Tensor) or tuple(M.shape) != shape:
                got = tuple(M.shape) if isinstance(M, Tensor) else type(M).__name__
                return (
                    f"For {d_model} × {d_kv} and width {width}, {name} is {got}, not {shape}."
                )
        singular = torch.linalg.svdvals(W)
        least = singular[width:].square().sum().sqrt()
        lost = (down.double() @ up.double() - W).norm()
        if lost > least + 1e-4 * W.norm():
            return (
                f"Width {width} of a {d_model} × {d_kv} matrix: {lost:.3f} is lost, and "
                f"{least:.3f} would do. Which directions should stay?"
            )
    return ""


EXERCISES: dict[str, Exercise] = {
    "latents_that_fit": Value(
        tokens,
        because="(512 + 64) numbers of 2 bytes in 61 layers are 70,272 bytes a token.",
        wrong={
            MEMORY // (61 * 512 * 2): "The rotated key is kept as well: 64 more numbers.",
            MEMORY // (576 * 2): "That is one layer of 61.",
            MEMORY // (61 * 576): "A number takes 2 bytes here.",
            MEMORY // (61 * 2 * 576 * 2): "There is one latent, for keys and for values.",
            60 * 10**9 // 70_272: "60 GiB are 60 · 2³⁰ bytes, more than 60 · 10⁹.",
        },
    ),
    "absorbed_scores": FunctionWithKnownMistakes(
        _made,
        _heads,
        because="The query went to the latents; no key was made.",
        mistakes=MISTAKES,
    ),
    "compressed": OpenAnswer(
        _fault_of_latent, because="As little is lost as a matrix of that rank can lose."
    ),
}
