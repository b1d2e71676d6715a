"""Sizes, inputs and parts that latent attention refuses."""

import pytest
import torch
from torch import nn

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.costs import variant_costs
from mhsa_lib import MultiHeadAttention
from mhsa_lib.stages import Split
from mhsa_lib.variants import LatentAttention
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.latent.layers import latent

SIZES = {"d_model": 12, "n_heads": 3, "d_latent": 4, "d_rope": 2}


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"d_latent": 0}, "d_latent=0 is not a size; it must be at least 1"),
        ({"d_q_latent": 0}, "d_q_latent=0 is not a size"),
        (
            {"d_rope": 3},
            "d_rope=3 is odd; dimensions rotate in pairs, try d_rope=4, or 0",
        ),
        ({"d_rope": -2}, "d_rope=-2 is not a size; it must be at least 1"),
        ({"d_nope": 0}, "d_nope=0 is not a size"),
        ({"n_heads": 5}, "n_heads=5 does not divide d_model=12; try d_model=10 or d_model=15"),
        ({"dropout": 1.0}, "dropout=1.0 is not a probability"),
    ],
)
def test_sizes_that_cannot_be(wrong, words):
    with pytest.raises(ValueError, match=words):
        LatentAttention(**(SIZES | wrong))
    if set(wrong) & {"d_rope", "d_nope", "n_heads"}:
        with pytest.raises(ValueError, match=words):
            variant_costs.latent(**(SIZES | wrong), n=1)


@pytest.mark.nohook  # which knows an int when it sees one
@pytest.mark.parametrize("wrong", ["d_latent", "d_rope"])
def test_half_a_column(wrong):
    with pytest.raises(TypeError, match=rf"{wrong}=2.5 is not a whole number; pass an int"):
        LatentAttention(**(SIZES | {wrong: 2.5}))


@pytest.mark.bothways
@pytest.mark.parametrize("absorb", [False, True])
def test_what_comes_in_is_checked_as_everywhere(absorb):
    mla = latent(12, 3, 4, 2, d_q_latent=6)
    form = AbsorbedLatentAttention(mla) if absorb else mla
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(5, 8\), but d_model=12"):
        form(rand(5, 8))
    with pytest.raises(ValueError, match=r"context is 8 wide, shape \(5, 8\), but d_model=12"):
        form(rand(5, 12), rand(5, 8))
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(3,\)"):
        form(rand(2, 5, 12), rand(3, 5, 12))
    with pytest.raises(TypeError, match=r"mask has dtype torch\.float32, not bool"):
        form(rand(5, 12), mask=torch.ones(5, 5))


@pytest.mark.bothways
def test_only_latent_attention_with_its_own_stages_is_absorbed():
    with pytest.raises(TypeError, match="MultiHeadAttention has no absorbed form"):
        AbsorbedLatentAttention(MultiHeadAttention(12, 3))
    other = LatentAttention(12, 3, 4, 2, split=Split(3))
    with pytest.raises(ValueError, match="split=Split has no absorbed form; only LatentSplit"):
        AbsorbedLatentAttention(other)


@pytest.mark.bothways
def test_what_would_not_act_when_absorbed_is_refused():
    biased = LatentAttention(12, 3, 4, 2)
    biased.split.W_UV = nn.Linear(4, 12)
    with pytest.raises(
        ValueError, match="Linear has a hook, a bias or a wrapper around it, and"
    ):
        AbsorbedLatentAttention(biased)
    absorbed = AbsorbedLatentAttention(LatentAttention(12, 3, 4, 2).double())
    absorbed.split.W_UK.register_forward_hook(lambda module, args, out: 2 * out)
    with pytest.raises(ValueError, match="what is absorbed is the weight alone; merge that"):
        absorbed(rand(5, 12))
