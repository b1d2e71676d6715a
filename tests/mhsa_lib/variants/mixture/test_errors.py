"""Numbers of heads and routers that cannot be are refused with a repair."""

import pytest
import torch
from torch import nn

from mhsa_lib import MultiHeadAttention, trace
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import Route, balance_loss, check_routing
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.mixture.layers import attention


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            (4, 4, 1),
            "n_shared=4 of n_heads=4 leaves zero routed heads; "
            "use n_shared=3 or fewer, or MultiHeadAttention.",
        ),
        (
            (4, 9, 1),
            "n_shared=9 of n_heads=4 leaves zero routed heads; "
            "use n_shared=3 or fewer, or MultiHeadAttention.",
        ),
        (
            (4, 1, 5),
            "n_active=5 is more than the 3 routed heads, n_heads=4 less n_shared=1; "
            "use n_active=3 or fewer.",
        ),
        ((4, 1, 0), "n_active=0 is not a size; it must be at least 1."),
        ((4, -1, 1), "n_shared=-1 is not a number of heads; it must be at least 0."),
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
def test_a_router_that_sends_everything_to_one_head():
    gates = torch.zeros(2, 8, 4)
    gates[..., [0, 2]] = 1.0
    words = (
        "all 16 tokens are sent to the same 1 of 3 routed heads; "
        "their loads are 0.00, 1.00, 0.00. Add balance_loss(model) to the loss, 0.01 "
        "times in the paper, or start the router again with smaller weights."
    )
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        check_routing(gates, n_shared=1)
    assert str(error.value) == words
    gates[1, 7, [2, 3]] = torch.tensor([0.0, 1.0])
    check_routing(gates, n_shared=1)


@pytest.mark.bothways
def test_one_token_or_all_heads_active_say_nothing_about_a_router():
    check_routing(torch.tensor([[1.0, 0.0, 1.0]]), n_shared=1)
    check_routing(torch.ones(5, 3), n_shared=1)
    layer = attention()
    with trace(layer) as wires:
        layer(rand(2, 50, 12))
    check_routing(wires["gates"], layer.n_shared)


@pytest.mark.bothways
def test_a_balance_loss_where_there_is_none():
    layers = nn.Sequential(attention(), attention()).eval()
    with pytest.raises(ValueError, match="2 of 2 routed layers have no balance loss"):
        balance_loss(layers)
    with pytest.raises(ValueError, match="MultiHeadAttention holds no MixtureOfHeadAttention"):
        balance_loss(MultiHeadAttention(12, 3))
    assert isinstance(layers[0].route, Route)


@pytest.mark.bothways
def test_a_wrong_width_is_refused_before_anything_is_routed():
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(2, 5, 8\), but d_model=12"):
        attention()(rand(2, 5, 8))
