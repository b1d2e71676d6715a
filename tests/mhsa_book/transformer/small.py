"""A small model in float64 whose every number is drawn, and a batch of unequal sentences."""

import torch

from mhsa_book.transformer import BOS, EOS, EncoderDecoder, padded
from tests.helpers.drawn import filled

N_SOURCE, N_TARGET, N_POSITIONS = 11, 9, 8


def small(std: float = 0.5, **options) -> EncoderDecoder:
    sizes = {"d_model": 12, "n_heads": 3, "d_hidden": 20} | options
    model = EncoderDecoder(N_SOURCE, N_TARGET, N_POSITIONS, **sizes)
    return filled(model.double(), std).eval()


def sources() -> torch.Tensor:
    """Three sentences of 5, 2 and 4 tokens."""
    return padded([[5, 3, 10, 4, 7], [6, 3], [9, 8, 3, 5]])


def given() -> torch.Tensor:
    """What the decoder is given with them: 4, 6 and 2 tokens, ``BOS`` counted."""
    return padded([[BOS, 5, 3, 4], [BOS, 8, 7, 3, 6, EOS], [BOS, 4]])
