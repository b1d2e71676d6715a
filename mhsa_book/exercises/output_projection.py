"""Exercises of chapter 08, W_O."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_book.exercises.drawn_inputs import counted
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.tracing.wires import trace

D_MODEL, N_HEADS, HEAD = 512, 8, 5


def rows() -> tuple[int, int, int]:
    """First and last row of W_O that belong to a head, and how many numbers stand in them."""
    own = torch.arange(D_MODEL).unflatten(0, (N_HEADS, -1))[HEAD]
    return int(own[0]), int(own[-1]), own.numel() * D_MODEL


def wrote(z: Tensor, W_O: Tensor) -> Tensor:
    """What each head adds to y, (batch, head, query, d_model)."""
    return z @ W_O.unflatten(0, (z.shape[-3], z.shape[-1]))


def unlike(twin: Any) -> str:
    """What is wrong with an attention that should have another z of head 0 and the same y."""
    if not isinstance(twin, MultiHeadAttention):
        return f"{type(twin).__name__} is no attention; hand over the changed twin."
    x, old = examples.sentences(), examples.running()
    with torch.no_grad(), trace(twin) as new:
        twin(x)
    moved = (new["y"] - old["y"]).abs().max()
    if moved > 1e-4:
        return f"y is another one; its largest change is {moved:.2f}."
    before, after = (wires["z"][0, 0, 6] for wires in (old, new))
    return "" if (after - before).abs().max() > 1e-3 else 'z of head 0 at "tired" is as it was.'


def _pieces() -> Iterator[dict[str, Any]]:
    for batch, n_heads, n_query, d_head in (
        (1, 1, 1, 1),
        (1, 2, 1, 1),
        (1, 2, 3, 2),
        (2, 3, 2, 4),
    ):
        W_O = counted(n_heads * d_head, n_heads * d_head + 1)
        yield {"z": counted(batch, n_heads, n_query, d_head), "W_O": W_O}


def _dealt(z: Tensor, W_O: Tensor) -> Tensor:
    """Every n_heads-th row of W_O for a head."""
    return z @ W_O.unflatten(0, (z.shape[-1], z.shape[-3])).transpose(0, 1)


UNWRITTEN = {
    lambda z, W_O: wrote(z, W_O).sum(dim=-3): (
        "That is y, the sum. What each head adds to it keeps an axis for heads."
    ),
    lambda z, W_O: wrote(z, W_O).flatten(-2): "The numbers are right, and the shape is not.",
    lambda z, W_O: z @ W_O[: z.shape[-1]]: "Every head goes through the rows of head 0.",
    lambda z, W_O: z @ W_O.unflatten(0, (z.shape[-3], -1)).flip(0): (
        "The first rows of W_O belong to head 0."
    ),
    _dealt: "The rows of a head stand side by side: first d_head rows for head 0.",
}


EXERCISES: dict[str, Exercise] = {
    "w_o_rows": Value(
        rows,
        because="A head owns 512 / 8 = 64 rows, and each row has 512 columns.",
        wrong={
            (256, 319, 32768): "That is head 4; we count from 0.",
            (320, 384, 32768): "Row 384 belongs to the next head; a slice ends before it.",
            (320, 383, 4096): "64 × 64 would keep the head in its own columns; a row has 512.",
        },
    ),
    "heads_wrote": FunctionWithKnownMistakes(wrote, _pieces, mistakes=UNWRITTEN),
    "w_o_kernel": Value(
        lambda: examples.attention().d_model,
        because="The path of a head is as wide as d_head, and its rank is at most that.",
        wrong={
            4: "Four columns let through rank 4; the matrix has rank 12.",
            3: "That is how many heads there are. Ask how many columns one head needs.",
            36: "Every neighbour has a head of its own; one of them needs less.",
        },
    ),
    "w_o_twin": OpenAnswer(
        unlike, because="Only the product of W_V and W_O matters to y, not what stands between."
    ),
}
