"""Random steppers, and the wires that PyTorch gives them."""

import math

import torch

from mhsa_book.widgets import StageStepper
from mhsa_book.widgets.stage_stepper import INPUTS
from tests.helpers.drawn import mha, rand

# tokens, d_model, n_heads, d_head
SIZES = [(1, 1, 1, 1), (2, 4, 2, 2), (4, 6, 3, 2), (3, 5, 2, 3), (4, 2, 1, 4), (2, 3, 6, 1)]


def drawn(n, d_model, n_heads, d_head, mask=None) -> StageStepper:
    return StageStepper(rand(n, d_model), mha(d_model, n_heads, d_head=d_head), mask)


def numbers(stepper) -> dict:
    return {name: getattr(stepper, name) for name in (*INPUTS, "mask", "n_heads")}


def expected(stepper) -> dict[str, torch.Tensor]:
    """PyTorch's wires, and the two that only the stepper shows."""
    wires = dict(stepper.wires())
    dots = wires["scores"] * (len(stepper.W_Q[0]) / stepper.n_heads) ** 0.5
    masked = wires["scores"].masked_fill(~torch.tensor(stepper.mask), -math.inf)
    return wires | {"dots": dots, "masked": masked}


def tensor(rows) -> torch.Tensor:
    """Nested lists as node prints them: an infinite number is a text."""
    if isinstance(rows, list):
        return torch.stack([tensor(row) for row in rows])
    return torch.tensor(float(rows), dtype=torch.float64)
