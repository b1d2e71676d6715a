"""A model that knows six translations by heart, which end in different places."""

from functools import cache

import torch

from mhsa_book.transformer import EOS, EncoderDecoder, loss, padded, shifted
from tests.mhsa_book.transformer.small import small

SENTENCES = padded([[5, 3, 10, 4, 7], [6, 3], [9], [8, 8, 5], [4, 9, 9, 9], [3, 5]])
TRANSLATIONS = padded(
    [[5, 3, EOS], [7, EOS], [4, 4, 4, EOS], [EOS], [6, 5, 4, 3, 8, EOS], [3, 3, 7, 7, EOS]]
)


@cache
def learned() -> EncoderDecoder:
    """The same model every time, which nobody may change."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = small(std=0.3)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    given, wanted = shifted(TRANSLATIONS)
    for _ in range(100):
        optimizer.zero_grad()
        loss(model(SENTENCES, given), wanted).backward()
        optimizer.step()
    return model.requires_grad_(False)
