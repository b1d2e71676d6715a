"""How heads are composed: the formula, its branches, how they begin and learn."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, edit, trace
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import Compose, LowRank, Static, five_branches
from tests.helpers.drawn import filled, rand
from tests.mhsa_lib.variants.composed.layers import attention


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10_000))
def test_it_is_the_formula_written_with_loops(n_heads, rank, seed):
    torch.manual_seed(seed)
    n_query, n_key = 2, 3
    compose = filled(five_branches(5, n_heads, rank, "pre").double())
    a, x, context = rand(n_heads, n_query, n_key), rand(n_query, 5), rand(n_key, 5)
    static, low_q, low_k, gate_q, gate_k = compose.branches
    tokens = {"query": x, "key": context}
    (q1, q2), (k1, k2) = low_q(tokens), low_k(tokens)
    by_query, by_key = gate_q(tokens), gate_k(tokens)
    found = compose(a, x, context)
    for t in range(n_query):
        for s in range(n_key):
            pair = a[:, t, s]
            expected = pair + static.W_b.T @ pair + (by_query[t] + by_key[s]) * pair
            for r in range(rank):
                expected = expected + (q1[t, r] @ pair) * q2[t, r]
                expected = expected + (k1[s, r] @ pair) * k2[s, r]
            assert_close(found[:, t, s], expected)


def test_w1_has_length_one_per_head_and_w2_is_left_as_it_is():
    low = LowRank(12, 3, 2, "pre", "query").double()
    nn.init.normal_(low.W_2.weight)
    w1, w2 = low({"query": rand(5, 12)})
    assert_close(w1.square().mean(dim=-1), torch.ones(5, 2).double(), atol=1e-5, rtol=0)
    assert w2.square().mean(dim=-1).std() > 0.1


def test_talking_heads_are_the_static_branch_alone():
    layer = attention(pre=Compose(Static(3)), post=Compose(Static(3)))
    with trace(layer) as wires:
        layer(rand(5, 12))
    for a, b, compose in (
        ("scores", "composed_scores", layer.attend.pre),
        ("weights", "composed_weights", layer.attend.post),
    ):
        mixing = torch.eye(3).double() + compose.branches[0].W_b.T
        by_hand = (mixing @ wires[a].flatten(start_dim=1)).view(3, 5, 5)
        assert_close(wires[b], by_hand)


def test_it_begins_as_plain_attention_nearly():
    torch.manual_seed(0)
    layer, x = ComposedAttention(64, 8), torch.randn(2, 10, 64)
    plain = MultiHeadAttention(64, 8)
    plain.load_state_dict(layer.state_dict(), strict=False)
    expected = plain(x)
    assert 1e-6 < (layer(x) - expected).abs().max() < 0.2 * expected.abs().max()


def test_the_branches_begin_as_in_the_authors_code():
    d_model, n_heads, rank = 256, 16, 2
    torch.manual_seed(0)
    static, low, _, gate, _ = five_branches(d_model, n_heads, rank, "pre").branches
    assert not static.W_b.any()
    expected = {
        low.W_1: (2 / (d_model + 64)) ** 0.5,
        low.W_2: 0.02 / ((2 * n_heads * rank) ** 0.5 * (n_heads + rank)),
        gate.W_g: 0.05 * (2 / (d_model + n_heads)) ** 0.5,
    }
    for W, std in expected.items():
        assert W.weight.std().item() == pytest.approx(std, rel=0.05)


def test_the_last_maps_learn_from_the_first_step_on():
    layer = ComposedAttention(12, 3).double()
    layer(rand(2, 6, 12)).square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in layer.attend.parameters())


def test_with_all_of_a_low_rank_branch_zero_it_can_never_learn():
    """w1 · w2: each factor's gradient is the other. So the start is small, but not zero."""
    layer = ComposedAttention(12, 3).double()
    for name, parameter in layer.attend.named_parameters():
        if name.endswith("W_2.weight"):
            parameter.data.zero_()
    layer(rand(2, 6, 12)).square().sum().backward()
    for name, parameter in layer.attend.named_parameters():
        assert bool(parameter.grad.any()) is not name.endswith(("W_1.weight", "W_2.weight"))


def test_the_query_decides_for_its_row_and_the_key_for_its_column():
    layer, x = attention(), rand(5, 12)
    with trace(layer) as wires:
        layer(x)
    before = dict(wires)

    def third(maps):
        changed = maps.clone()
        changed[2] += 1.0
        return changed

    for side, place in (("query", (slice(None), 2)), ("key", (slice(None), slice(None), 2))):
        with edit(layer, f"pre_{side}_gate", third), trace(layer) as wires:
            layer(x)
        moved = wires["composed_scores"] - before["composed_scores"]
        assert_close(moved[place], before["scores"][place])
        moved[place] = 0
        assert not moved.any()


def test_composed_weights_may_be_negative_and_need_not_sum_to_one():
    layer = attention()
    with trace(layer) as wires:
        layer(rand(5, 12))
    composed = wires["composed_weights"]
    assert (composed < 0).any()
    assert (composed.sum(dim=-1) - 1).abs().max() > 0.1


@pytest.mark.parametrize("place", ["pre", "post"])
def test_an_empty_compose_stands_where_it_is_given(place):
    class Nothing(Compose):
        def __len__(self):
            return len(self.branches)

    attention = ComposedAttention(12, 3, **{place: Nothing()})
    assert len(getattr(attention.attend, place)) == 0
