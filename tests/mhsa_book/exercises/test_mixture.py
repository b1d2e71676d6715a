"""Chapter 23: what a router learns from, and one that learns nothing."""

import pytest
import torch
from torch import nn

from mhsa_book.exercises import check
from mhsa_book.exercises.mixture import QueryNormRouter
from mhsa_lib import MultiHeadAttention
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants import mixture as routing
from mhsa_lib.variants.mixture import balance_loss


def layer(**options):
    return MixtureOfHeadAttention(64, 8, n_shared=2, **({"n_active": 1} | options))


def of_task(one):
    return one(torch.randn(32, 64)).square().mean()


def test_the_balance_loss_teaches_the_router_also_after_backward():
    one = layer()
    loss = of_task(one) + 0.01 * balance_loss(one)
    assert check("router_learns", (one, loss))
    assert one.route.router.W_R.weight.grad is None
    loss.backward()
    assert check("router_learns", (one, loss))


def test_a_loss_after_which_the_router_learns_nothing_is_told_why():
    one = layer()
    said = check("router_learns", (one, of_task(one))).text
    assert "W_R has no gradient from it" in said
    said = check("router_learns", (one, 0.01 * balance_loss(one))).text
    assert "the values do not" in said
    assert "no gradient: nothing" in check("router_learns", (one, of_task(one).detach())).text
    assert "one number" in check("router_learns", (one, one(torch.randn(3, 64)))).text
    assert "one number" in check("router_learns", (one, 0.5)).text
    assert "W_R has no gradient" in check("router_learns", (layer(), of_task(one))).text


@pytest.mark.parametrize(
    "one", [layer(scaling=routing.paper_scaling), layer(n_active=2)], ids=["paper", "two"]
)
def test_other_gates_are_refused(one):
    assert "These are other gates" in check("router_learns", (one, of_task(one))).text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "Hand over the layer and its loss."),
        (torch.tensor(1.0), "Hand over the layer and its loss."),
        ((MultiHeadAttention(12, 3), 1.0), "MultiHeadAttention, which does not route"),
    ],
)
def test_no_layer_or_no_loss_is_said(answer, said):
    assert said in check("router_learns", answer).text


def by_sign(shares, shared=None):
    """A class of routers; ``shares`` makes the routed ones of x, ``shared`` the shared ones."""

    class Router(QueryNormRouter):
        def forward(self, x, q):
            alphas, kept, _ = super().forward(x, q)
            return alphas, kept if shared is None else shared(kept), shares(x)

    return Router


def stacked(x):
    return torch.stack([x[..., 0], -x[..., 0]], dim=-1)


def test_shares_of_any_size_route_by_the_larger():
    assert check("router_by_sign", by_sign(stacked))
    assert check("router_by_sign", by_sign(lambda x: stacked(x).softmax(dim=-1)))
    assert check("router_by_sign", by_sign(lambda x: (stacked(x) > 0).float()))


class Learned(QueryNormRouter):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.W = nn.Linear(64, 2)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (by_sign(lambda x: -stacked(x)), "Every token takes the other head"),
        (by_sign(lambda x: torch.ones(32, 2) + stacked(x) * 0), "All tokens take the same"),
        (by_sign(lambda x: stacked(x[..., 1:])), "tokens take the wrong head"),
        (by_sign(stacked, lambda kept: kept / 2), "shared heads are no longer 1"),
        (by_sign(lambda x: x[..., 0] > 0), "one share for each"),
        (by_sign(lambda x: None), "one share for each"),
        (Learned, "It has parameters"),
        (lambda *sizes: 3, "It makes int, which is no router"),
        (by_sign(lambda x: x[99]), "Trying it raises IndexError"),
        (QueryNormRouter(64, 2, 2), "without brackets"),
        ("sign", "Hand over the class"),
    ],
)
def test_a_router_that_goes_by_something_else_is_told_what(answer, said):
    assert said in check("router_by_sign", answer).text


def test_a_router_without_shares_is_unfilled():
    assert check("router_by_sign", by_sign(lambda x: ...)).state == "unfilled"


def test_checking_leaves_the_random_numbers_alone():
    torch.manual_seed(0)
    check("router_by_sign", by_sign(stacked))
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert drawn == torch.rand(1)


def test_shared_and_active_heads_are_counted_together():
    assert check("sum_of_gates", 12)
    assert check("sum_of_gates", torch.tensor(12.0))
    assert "shared ones count" in check("sum_of_gates", 8).text
    assert "of the paper's gates" in check("sum_of_gates", 0.83333).text
