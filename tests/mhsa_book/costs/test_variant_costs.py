"""Costs are refused for sizes that no attention has, in the words of the attention itself."""

import pytest

from mhsa_book.costs import variant_costs
from mhsa_lib.variants import (
    ComposedAttention,
    LatentAttention,
    MixtureOfHeadAttention,
    OverlappedAttention,
)

CASES = {
    "overlap below zero": ("overlapped", OverlappedAttention, (12, 3, -1), {}),
    "overlap wider than a head": ("overlapped", OverlappedAttention, (12, 3, 5), {}),
    "more shared heads than heads": ("mixture", MixtureOfHeadAttention, (12, 3, 5), {}),
    "all heads shared": ("mixture", MixtureOfHeadAttention, (12, 3, 3), {}),
    "shared below zero": ("mixture", MixtureOfHeadAttention, (12, 3, -1), {}),
    "no rank": ("composed", ComposedAttention, (12, 3), {"rank": 0}),
    "no latent": ("latent", LatentAttention, (12, 3, 0, 2), {}),
    "no query latent": ("latent", LatentAttention, (12, 3, 4, 2), {"d_q_latent": 0}),
    "odd rotation": ("latent", LatentAttention, (12, 3, 4, 3), {}),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_built_has_no_costs_and_says_so_alike(name):
    formula, attention, sizes, options = CASES[name]
    active = {"n_active": 1} if attention is MixtureOfHeadAttention else {}
    with pytest.raises(ValueError) as built:  # noqa: PT011  the messages are compared
        attention(*sizes, **options, **active)
    with pytest.raises(ValueError) as priced:  # noqa: PT011
        getattr(variant_costs, formula)(*sizes, n=1, **options)
    assert str(priced.value) == str(built.value)
