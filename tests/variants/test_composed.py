"""Dynamically composed heads: the authors' numbers, the parts, masks, costs, bad input."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, edit, masks, trace
from mhsa_lib.cache.remembering import remember
from mhsa_lib.costs import variant_costs
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.parts.composition import Compose, Gate, LowRank, Static, five_branches
from tests.helpers.drawn import filled, rand
from tests.variants.stored import numbers, stored_cases

CASES = stored_cases("composed")
BRANCHES = {"pre_query": 0, "pre_key": 1, "post_query": 2, "post_key": 3}
NEAR = 1e-10


def attention(d_model=12, n_heads=3, **options):
    return filled(ComposedAttention(d_model, n_heads, **options).double())


def load_branches(composes, weights):
    """Their generator, stored for all branches together, into our branches."""
    dw1 = numbers(weights["dyn_w_proj.dw1"])[:, 0]  # d, branch, hidden
    qkw = numbers(weights["dyn_w_proj.qkw"])[0]  # branch, hidden, w1 and w2, head
    dd = numbers(weights["dyn_w_proj.dd"])[:, 0]  # d, branch and head
    for place, compose in composes.items():
        for branch in compose.branches:
            if isinstance(branch, Static):
                stored = weights.get(f"dyn_w_proj.{place}_proj.w")
                branch.W_b.data = numbers(stored)[0] if stored else branch.W_b.double() * 0
                continue
            at = BRANCHES[f"{place}_{branch.side}"]
            if isinstance(branch, LowRank):
                branch.W_1.weight.data = dw1[:, at].T
                branch.W_2.weight.data = qkw[at].flatten(start_dim=1).T
            else:
                branch.W_g.weight.data = dd.chunk(4, dim=-1)[at].T


def of_the_authors(case):
    settings, weights = case["settings"], case["weights"]
    built = ComposedAttention(settings["dim"], settings["n_head"]).double()
    for W, stored in zip(
        (built.project.W_Q, built.project.W_K, built.project.W_V),
        numbers(weights["wqkv.weight"]).chunk(3),
        strict=True,
    ):
        W.weight.data = stored
    built.W_O.weight.data = numbers(weights["wo.weight"])
    load_branches({"pre": built.attend.pre, "post": built.attend.post}, weights)
    return built


# --- the authors' code -----------------------------------------------------------------------

DEFECTIVE = "layer_static_causal_prefill_without_identity"
LAYERS = [name for name, case in CASES.items() if "y" in case["outputs"] and name != DEFECTIVE]


@pytest.mark.parametrize("name", LAYERS)
def test_every_wire_agrees_with_the_authors_code(name):
    case, layer = CASES[name], of_the_authors(CASES[name])
    with trace(layer) as wires:
        layer(numbers(case["inputs"]["x"]), mask=torch.tensor(case["inputs"]["mask"]))
    names = {"scores": "scores", "scores_composed": "composed_scores"}
    names |= {"attn_composed": "composed_weights", "y": "y"}
    for theirs in case["outputs"]:
        difference = wires[names[theirs]] - numbers(case["outputs"][theirs])
        assert difference.abs().max() < NEAR, theirs


def test_the_references_hold_static_and_dynamic_layers_with_and_without_a_mask():
    assert {"layer_static_causal", "layer_dynamic_causal", "layer_dynamic_no_mask"} == {*LAYERS}


def test_where_their_prefill_drops_the_identity_ours_keeps_it():
    """One file of theirs, one set of weights, two results; ours is their token by token."""
    wrong, right = CASES[DEFECTIVE], CASES["layer_static_causal"]
    assert wrong["weights"] == right["weights"]
    layer, x = of_the_authors(right), numbers(right["inputs"]["x"])
    with remember(layer):
        steps = [layer(x[:, i : i + 1], mask=masks.causal) for i in range(x.shape[1])]
    assert (torch.cat(steps, dim=1) - numbers(right["outputs"]["y"])).abs().max() < NEAR
    assert (torch.cat(steps, dim=1) - numbers(wrong["outputs"]["y"])).abs().max() > 0.01


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("static", [False, True])
def test_composing_alone_agrees_with_the_authors_code(place, static):
    case = CASES["compose_alone"]
    a, x = numbers(case["inputs"]["a"]), numbers(case["inputs"]["x"])
    compose = five_branches(8, 4, 2, place).double()
    load_branches({place: compose}, case["weights"])
    compose.branches[0].W_b.data *= static
    expected = numbers(case["outputs"][f"{place}_composed" + "_static" * static])
    assert (compose(a, x, x) - expected).abs().max() < NEAR


@pytest.mark.parametrize("side", ["query", "key"])
@pytest.mark.parametrize("place", ["pre", "post"])
def test_the_maps_a_token_makes_are_those_of_the_authors_code(place, side):
    case = CASES["compose_alone"]
    compose = five_branches(8, 4, 2, place).double()
    load_branches({place: compose}, case["weights"])
    x = numbers(case["inputs"]["x"])
    low, gate = (b for b in compose.branches if getattr(b, "side", None) == side)
    w1, w2 = low({side: x})
    for ours, theirs in ((w1, "w1"), (w2, "w2"), (gate({side: x}), "dd")):
        stored = numbers(case["outputs"][f"{place}_{side[0]}{theirs}"])
        assert (ours - stored).abs().max() < NEAR, theirs


# --- what it is ------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10_000))
def test_it_is_the_formula_written_with_loops(n_heads, rank, seed):
    torch.manual_seed(seed)
    rank, n_query, n_key = min(rank, n_heads), 2, 3
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


# --- masks -----------------------------------------------------------------------------------


def test_scores_are_composed_before_the_mask():
    """A head's score of a forbidden pair still counts for a head that may look there."""
    layer, x = attention(), rand(5, 12)
    closed = torch.ones(3, 5, 5).bool()
    closed[0] = False
    with trace(layer) as wires:
        layer(x)
    free = wires["composed_scores"]
    with trace(layer) as wires:
        layer(x, mask=closed)
    assert torch.equal(wires["composed_scores"], free)


def test_a_key_that_one_head_may_not_see_stays_unseen_through_the_others():
    layer, x = attention(), rand(5, 12)
    mask = torch.ones(3, 5, 5).bool()
    mask[0, :, 4] = False  # head 0 may not look at the last token, heads 1 and 2 may
    with trace(layer) as wires:
        layer(x, mask=mask)
    assert not wires["composed_weights"][0, :, 4].any()
    assert wires["composed_weights"][1:, :, 4].all()
    raised = x.clone()
    raised[4] += 10.0
    with edit(layer, "v", lambda v: layer.project.W_V(raised)), trace(layer) as again:
        layer(x, mask=mask)
    assert_close(again["z"][0], wires["z"][0])
    assert not torch.allclose(again["z"][1], wires["z"][1])


def test_dropout_acts_on_the_composed_weights_in_training_only():
    layer, x = attention(dropout=0.5), rand(5, 12)
    torch.manual_seed(0)
    with trace(layer.train()) as wires:
        layer(x)
    kept = wires["composed_weights"].clone()
    assert kept.all()
    assert not torch.allclose(wires["z"], kept @ wires["v_heads"])
    with trace(layer.eval()) as wires:
        layer(x)
    assert_close(wires["z"], wires["composed_weights"] @ wires["v_heads"])


# --- what it costs ---------------------------------------------------------------------------


@given(  # a sum over one head or one rank runs as an elementwise product: not counted
    n_heads=st.integers(2, 4),
    rank=st.integers(2, 4),
    d_head=st.integers(1, 4),
    n=st.integers(1, 5),
)
def test_the_formula_counts_what_the_module_has_does_and_keeps(n_heads, rank, d_head, n):
    rank = min(rank, n_heads)
    layer = ComposedAttention(7, n_heads, rank=rank, d_head=d_head)
    costs = variant_costs.composed(7, n_heads, rank=rank, d_head=d_head, n=n)
    counted = dict.fromkeys(costs.parameters, 0)
    for name, parameter in layer.named_parameters():
        counted[name.removesuffix(".weight").split(".")[-1]] += parameter.numel()
    assert counted == costs.parameters
    with trace(layer) as wires:
        layer(torch.randn(n, 7))
    assert {wire: s.flops for wire, s in wires.steps.items() if s.flops} == costs.flops
    with remember(layer) as cache:
        layer(torch.randn(n, 7), mask=masks.causal)
    assert {wire: kept.numel() // n for wire, kept in cache.items()} == costs.cached


def test_the_cost_in_the_words_of_the_docstring():
    d_model, h, n = 64, 8, 10
    plain = variant_costs.grouped(d_model, h, h, n=n)
    composed = variant_costs.composed(d_model, h, n=n)
    more = sum(composed.parameters.values()) - sum(plain.parameters.values())
    assert more == 20 * d_model * h + 64 * h**2 + 2 * h**2
    assert sum(composed.cached.values()) - sum(plain.cached.values()) == 10 * h
    per_pair = composed.flops["composed_scores"] + composed.flops["composed_weights"]
    assert per_pair == n**2 * (32 * h + 4 * h**2)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (
            lambda: ComposedAttention(12, 3, rank=4),
            ValueError,
            "rank=4 exceeds n_heads=3; a map of heads to heads has at most that rank: "
            "try rank=3.",
        ),
        (
            lambda: ComposedAttention(12, 1),
            ValueError,
            "rank=2 exceeds n_heads=1; a map of heads to heads has at most that rank: "
            "try rank=1.",
        ),
        (
            lambda: ComposedAttention(12, 3, rank=0),
            ValueError,
            "rank=0 is not a size; it must be at least 1.",
        ),
        (
            lambda: ComposedAttention(10, 4),
            ValueError,
            "n_heads=4 does not divide d_model=10; try d_model=8 or d_model=12, or set d_head.",
        ),
        (
            lambda: ComposedAttention(12, 3, pre=Compose(Static(4))),
            ValueError,
            "Static was made for n_heads=4, but the attention has n_heads=3; "
            "make it for these sizes.",
        ),
        (
            lambda: ComposedAttention(12, 3, post=Compose(Gate(16, 3, "post", "key"))),
            ValueError,
            "Gate was made for d_model=16, but the attention has d_model=12; "
            "make it for these sizes.",
        ),
        (
            lambda: LowRank(12, 3, 2, "pre", "value"),
            ValueError,
            'side=\'value\' is no side of a pair; choose "query" or "key".',
        ),
        (
            lambda: Gate(12, 3, "pre", "token"),
            ValueError,
            'side=\'token\' is no side of a pair; choose "query" or "key".',
        ),
        (
            lambda: variant_costs.composed(12, 3, n=4, rank=0),
            ValueError,
            "rank=0 is not a size; it must be at least 1.",
        ),
    ],
    ids=range(9),
)
def test_bad_sizes_are_refused_with_a_repair(build, error, words):
    with pytest.raises(error) as caught:
        build()
    assert str(caught.value) == words


@pytest.mark.bothways
def test_a_cache_of_another_batch_is_refused_and_stays():
    layer = attention()
    with remember(layer) as cache:
        layer(rand(2, 3, 12), mask=masks.causal)
        before = {wire: value.clone() for wire, value in cache.items()}
        with pytest.raises(ValueError, match=r"sequences of batch \(2,\), but x has \(3,\)"):
            layer(rand(3, 1, 12), mask=masks.causal)
        assert all(torch.equal(cache[wire], before[wire]) for wire in before)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_an_empty_compose_stands_where_it_is_given(place):
    class Nothing(Compose):
        def __len__(self):
            return len(self.branches)

    attention = ComposedAttention(12, 3, **{place: Nothing()})
    assert len(getattr(attention.attend, place)) == 0
