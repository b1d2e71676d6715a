"""An untrained translator, some pairs, and words that are easy to count by hand."""

import torch

from mhsa_book.examples import language
from mhsa_book.experiments.translation.learning import N_POSITIONS
from mhsa_book.transformer import EncoderDecoder

SOURCES = ["rolan ot meti balo", "tekan ip balo ke sevan ul zuko", "miran ip kero ot lari mabo"]
PAIRS = [language.translations(text)[i] for i, text in enumerate(SOURCES)]


def model(seed=0, **sizes):
    """Two layers on each side, two heads, and maps that are far from even."""
    torch.manual_seed(seed)
    sizes = {"d_model": 12, "n_heads": 2, "d_hidden": 8} | sizes
    made = EncoderDecoder(len(language.SOURCE), len(language.TARGET), N_POSITIONS, **sizes)
    for name, parameter in made.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(parameter, std=0.6)
    return made.eval().requires_grad_(False)
