"""A quiz about a shape, and one with options."""

import torch

from mhsa_book.widgets import Predict

SHAPE = (2, 3, 6, 4)


def shape_quiz(**options):
    return Predict(
        "What shape is `q_heads`?",
        torch.zeros(SHAPE).shape,
        {(2, 6, 12): "That is `q`, before the split."},
        because="`head` moved in front of `query`.",
        axes=("batch", "head", "query", "d_head"),
        **options,
    )


def option_quiz():
    return Predict(
        "What does `view` do?",
        "refuse",
        {"copy": "`reshape` would."},
        options=["copy", "scramble", "refuse"],
    )
