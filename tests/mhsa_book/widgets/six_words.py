"""Figures of random numbers on six words: what a figure does, whatever it shows."""

from typing import Any

import torch

from mhsa_book import examples
from mhsa_book.widgets import MaskLab, OutputSum
from mhsa_lib.tracing import trace


def drawn() -> tuple[Any, Any]:
    """The random attention, and all its wires."""
    attention = examples.random_attention().double()
    with torch.no_grad(), trace(attention) as wires:
        attention(examples.random_tokens().double())
    return attention, wires


def mask_lab(**state: Any) -> MaskLab:
    """A mask over six words, and three random heads."""
    return MaskLab(drawn()[1]["scores"].float(), examples.SIX_WORDS, **state)


def output_sum(**state: Any) -> OutputSum:
    """The sum of three random heads on six words."""
    attention, wires = drawn()
    return OutputSum(wires["z"], attention.W_O, examples.SIX_WORDS, **state)
