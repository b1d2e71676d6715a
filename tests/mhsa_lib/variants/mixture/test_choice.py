"""Which heads a token chooses, and what the router learns from it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_book.difference import Difference
from mhsa_book.exercises.mixture import QueryNormRouter
from mhsa_book.measure import loads
from mhsa_lib import edit, trace
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import (
    TokenRouter,
    balance_loss,
    paper_scaling,
    released_scaling,
)
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.mixture.layers import PAPER, TUNED, attention
from tests.mhsa_lib.variants.stored import numbers


def test_the_router_of_the_tuned_model_takes_the_longest_queries():
    layer, x = attention(n_heads=6, n_shared=3, n_active=1, **TUNED), rand(4, 12)
    with trace(layer) as wires:
        layer(x)
    for token in range(4):
        lengths = [sum(q * q for q in head[token].tolist()) ** 0.5 for head in wires["q_heads"]]
        mean = sum(lengths[3:]) / 3
        spread = (sum((length - mean) ** 2 for length in lengths[3:]) / 2) ** 0.5
        longest = 3 + max(range(3), key=lambda i: lengths[3 + i])
        assert wires["gates"][token].tolist() == [
            float(h < 3 or h == longest) for h in range(6)
        ]
        assert_close(wires["routed"][token], (numbers(lengths[3:]) / spread).softmax(0))


def test_queries_of_equal_length_are_no_reason_for_a_nan():
    layer = attention(n_shared=5, n_active=1, **TUNED)
    for router in (layer.route.router, QueryNormRouter(12, 3, 3)):
        for shares in router(rand(4, 12), torch.ones(6, 4, 2).double()):
            assert shares.isfinite().all()
    layer(torch.zeros(4, 12).double()).sum().backward()
    assert layer.project.W_Q.weight.grad.isfinite().all()


@given(
    n_shared=st.integers(0, 3),
    n_routed=st.integers(1, 4),
    share=st.floats(0, 1),
    paper=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_a_token_uses_all_shared_heads_and_n_active_others(
    n_shared, n_routed, share, paper, seed
):
    torch.manual_seed(seed)
    n_active = 1 + round(share * (n_routed - 1))
    parts = PAPER if paper else {}
    layer = attention(8, n_shared + n_routed, n_shared, n_active, d_head=2, **parts)
    with trace(layer) as wires:
        layer(rand(2, 5, 8))
    gates = wires["gates"]
    assert ((gates > 0).sum(dim=-1) == n_shared + n_active).all()
    assert (gates[..., :n_shared] > 0).all()
    total = gates.sum(dim=-1)
    if paper:
        assert (total <= 1 + 1e-12).all()
    else:
        groups = wires["alphas"] * wires["alphas"].shape[-1]
        sizes = torch.tensor([n_shared, n_active]) if n_shared else torch.tensor([n_active])
        assert_close(total, groups @ sizes.double())


def test_gates_multiply_the_heads_of_their_own_token():
    layer, x = attention(), rand(2, 5, 12)
    with trace(layer) as wires:
        layer(x)
    for token in range(5):
        for head in range(6):
            z = wires["z"][:, head, token]
            assert_close(
                wires["gated"][:, head, token], wires["gates"][:, token, head, None] * z
            )


def test_a_head_that_no_token_chose_has_no_say():
    layer, x = attention(n_shared=1, n_active=1), rand(7, 12)
    with trace(layer) as wires:
        y = layer(x)
    unused = (wires["gates"] == 0).T[..., None]
    with edit(layer, "z", lambda z: z.masked_fill(unused, 1e6)):
        assert_close(layer(x), y)


def test_a_new_router_starts_with_gates_near_one_and_chooses_differently_per_token():
    torch.manual_seed(0)
    layer, x = MixtureOfHeadAttention(64, 8, 2, 3), torch.randn(200, 64)
    with trace(layer) as wires:
        layer(x)
    counting = wires["gates"][wires["gates"] > 0]
    assert counting.mean().item() == pytest.approx(1, abs=0.01)
    assert (counting - 1).abs().max() < 0.7
    stds = [layer.route.router.get_submodule(name).weight.std() for name in ("W_R", "W_S")]
    assert all(0.015 < std < 0.025 for std in stds)
    assert ((loads(wires["gates"])[2:] > 0.1) & (loads(wires["gates"])[2:] < 0.9)).all()


def test_with_one_active_head_the_released_gates_teach_the_router_nothing():
    """Its share of the chosen is 1 whatever the logits are; the loss of balance is left."""
    gradients = {}
    for scaling in (released_scaling, paper_scaling):
        layer = attention(n_active=1, scaling=scaling)
        layer(rand(9, 12)).square().sum().backward()
        gradients[scaling] = layer.route.router.W_R.weight.grad.abs().max().item()
    assert gradients[released_scaling] < 1e-12 < 1e-6 < gradients[paper_scaling]
    layer.zero_grad()
    layer(rand(9, 12))
    balance_loss(layer).backward()
    assert layer.route.router.W_R.weight.grad.abs().max() > 1e-6


def test_a_choice_of_one_has_no_parameters():
    def learned(n_shared, n_active):
        return [name for name, _ in TokenRouter(12, n_shared, n_active).named_parameters()]

    assert learned(0, 4) == ["W_R.weight"]
    assert learned(1, 3) == ["W_H.weight", "W_R.weight"]
    assert learned(3, 1) == ["W_H.weight", "W_S.weight"]
    assert not list(QueryNormRouter(12, 2, 2).parameters())


def test_one_line_of_the_forward_pass_differs():
    assert Difference(attention()).changed_lines == [
        "z = self.concat(self.route(x, q, z))  # <- the idea"
    ]
