"""Heads chosen and weighed per token, with the gates of the paper and of the released code."""

import torch

from mhsa_book.exercises.mixture import QueryNormRouter, hard_scaling
from mhsa_lib import MultiHeadAttention
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import paper_scaling
from tests.mhsa_lib.variants.entry import Variant


def every_gate_one(**parts):
    """All routed heads are active; the released gates are 1 when the router knows nothing."""

    def is_mha(attention: MultiHeadAttention) -> MixtureOfHeadAttention:
        mixture = MixtureOfHeadAttention(
            attention.d_model,
            attention.n_heads,
            n_shared=1,
            n_active=attention.n_heads - 1,
            bias=attention.W_O.bias is not None,
            **parts,
        ).double()
        mixture.load_state_dict(attention.state_dict(), strict=False)
        for parameter in mixture.route.parameters():
            torch.nn.init.zeros_(parameter)
        return mixture

    return is_mha


paper = {"scaling": paper_scaling}
tuned = {"router": QueryNormRouter, "scaling": hard_scaling}

VARIANTS = [
    Variant(
        "MixtureOfHeadAttention",
        lambda: MixtureOfHeadAttention(12, 6, n_shared=2, n_active=2, bias=True),
        every_gate_one(),
    ),
    Variant(
        "MixtureOfHeadAttention with the paper's gates",
        lambda: MixtureOfHeadAttention(12, 4, n_shared=2, n_active=1, **paper),
        every_gate_one(),
    ),
    Variant(
        "MixtureOfHeadAttention by query norm",
        lambda: MixtureOfHeadAttention(12, 4, n_shared=1, n_active=2, **tuned),
        every_gate_one(**tuned),
    ),
]
