"""A mixture of heads with drawn weights, and the parts of the paper and of the tuned model."""

import torch

from mhsa_book.exercises.mixture import QueryNormRouter, hard_scaling
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import paper_scaling
from tests.helpers.drawn import filled

PAPER = {"scaling": paper_scaling}
TUNED = {"router": QueryNormRouter, "scaling": hard_scaling}


def attention(d_model=12, n_heads=6, n_shared=2, n_active=2, **options):
    torch.manual_seed(0)
    return filled(
        MixtureOfHeadAttention(d_model, n_heads, n_shared, n_active, **options).double()
    )
