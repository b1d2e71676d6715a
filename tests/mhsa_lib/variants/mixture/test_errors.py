"""Numbers of heads and routers that cannot be are refused with a repair."""

import pytest
from torch import nn

from mhsa_lib import MultiHeadAttention
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import Route, balance_loss
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.mixture.layers import attention

FIT = "make n_shared at least 0, and both together at most 4."


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((4, 4, 1), "n_shared=4 and n_active=1 do not fit n_heads=4; " + FIT),
        ((4, 9, 1), "n_shared=9 and n_active=1 do not fit n_heads=4; " + FIT),
        ((4, 1, 5), "n_shared=1 and n_active=5 do not fit n_heads=4; " + FIT),
        ((4, 1, 0), "n_active=0 is not a size; it must be at least 1."),
        ((4, -1, 1), "n_shared=-1 and n_active=1 do not fit n_heads=4; " + FIT),
        ((0, 0, 1), "n_heads=0 is not a size; it must be at least 1."),
        (
            (8, 1, 1),
            "n_heads=8 does not divide d_model=12; try d_model=8 or d_model=16, or set d_head.",
        ),
    ],
)
def test_numbers_of_heads_that_cannot_be(sizes, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        MixtureOfHeadAttention(12, *sizes)
    assert str(error.value) == words


@pytest.mark.nohook
@pytest.mark.parametrize("n_shared", [1.5, 0.0, None, True, False, "1"])
def test_a_number_of_shared_heads_that_is_no_number(n_shared):
    """The shape hook would refuse the type before us."""
    words = f"n_shared={n_shared!r} is not a whole number; pass an int."
    with pytest.raises(TypeError) as error:
        MixtureOfHeadAttention(12, 4, n_shared, 1)
    assert str(error.value) == words


@pytest.mark.bothways
def test_a_balance_loss_where_there_is_none():
    layers = nn.Sequential(attention(), attention()).eval()
    with pytest.raises(ValueError, match="0 of 2 routed layers in Sequential have a balance"):
        balance_loss(layers)
    with pytest.raises(ValueError, match="0 of 0 routed layers in MultiHeadAttention have a"):
        balance_loss(MultiHeadAttention(12, 3))
    assert isinstance(layers[0].route, Route)


@pytest.mark.bothways
def test_a_wrong_width_is_refused_before_anything_is_routed():
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(2, 5, 8\), but d_model=12"):
        attention()(rand(2, 5, 8))
