"""Overlapping heads: the authors' numbers, plain attention in disguise, costs, bad input."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, masks, trace
from mhsa_lib.cache.remembering import remember
from mhsa_lib.convert.to_plain import unshared
from mhsa_lib.costs import variant_costs
from mhsa_lib.variants import OverlappedAttention
from mhsa_lib.variants.overlapped import (
    SCHEDULES,
    OverlappedSplit,
    overlap_heads,
)
from tests.helpers.drawn import filled, rand
from tests.variants.stored import numbers, stored_cases

CASES = stored_cases("overlapped")
TOO_WIDE = "overlap_beyond_d_k"


def attention(d_model=12, n_heads=3, overlap=1, **options):
    return filled(OverlappedAttention(d_model, n_heads, overlap, **options).double())


def of_the_authors(settings, weights):
    """Their layer in our stages: no bias but that of W_O."""
    stored = {name: numbers(values) for name, values in weights.items()}
    q, k, v = stored["to_qkv.weight"].chunk(3)
    built = OverlappedAttention(
        settings["dim"],
        settings["heads"],
        settings["overlap"],
        d_head=settings["dim_head"],
        W_O=nn.Linear(stored["to_out.0.weight"].shape[1], settings["dim"]),
    ).double()
    built.load_state_dict(
        {"project.W_Q.weight": q, "project.W_K.weight": k, "project.W_V.weight": v}
        | {"W_O.weight": stored["to_out.0.weight"], "W_O.bias": stored["to_out.0.bias"]}
    )
    return built


# --- the authors' code -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case["weights"] and name != TOO_WIDE]
)
def test_every_wire_agrees_with_the_authors_code(name):
    case, outputs = CASES[name], CASES[name]["outputs"]
    layer = of_the_authors(case["settings"], case["weights"])
    with trace(layer) as wires:
        layer(numbers(case["inputs"]["x"]))
    for theirs, ours in {"scores": "scores", "attn": "weights", "concat": "concat"}.items():
        assert (wires[ours] - numbers(outputs[theirs])).abs().max() < 1e-10, theirs
    assert (wires["y"] - numbers(outputs["y"])).abs().max() < 1e-10


def test_there_are_cases_with_and_without_overlap():
    overlaps = {case["settings"].get("overlap") for case in CASES.values()}
    assert overlaps >= {0, 1, 2, 4}


def test_where_their_code_reads_the_second_neighbour_ours_refuses():
    case = CASES[TOO_WIDE]
    with pytest.raises(ValueError, match="overlap=5 is wider than a head, d_head=4"):
        of_the_authors(case["settings"], case["weights"])


@pytest.mark.parametrize("n_layers", [12, 5])
def test_the_eight_schedules_are_those_of_the_authors_code(n_layers):
    ours = {
        name: [overlap(layer, n_layers) for layer in range(n_layers)]
        for name, overlap in SCHEDULES.items()
    }
    assert ours == CASES[f"schedules_L{n_layers}"]["outputs"]


# --- what it is ------------------------------------------------------------------------------


@given(
    d_head=st.integers(1, 4),
    n_heads=st.integers(1, 4),
    share=st.floats(0, 1),
    bias=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_it_is_plain_attention_with_wider_heads_that_share_columns(
    d_head, n_heads, share, bias, seed
):
    torch.manual_seed(seed)
    layer = attention(7, n_heads, round(share * d_head), d_head=d_head, bias=bias)
    plain = unshared(layer)
    assert type(plain) is MultiHeadAttention
    assert plain.attend.scale == plain.d_head**-0.5
    x, context = rand(2, 4, 7), rand(2, 6, 7)
    for mask in (None, masks.causal):
        assert_close(plain(x, context, mask), layer(x, context, mask))


@pytest.mark.parametrize("overlap", [0, 1])
@pytest.mark.parametrize("with_bias", [("W_O",), ("W_Q", "W_V"), ("W_Q", "W_K", "W_V"), ()])
def test_only_the_maps_that_have_a_bias_keep_one(with_bias, overlap):
    layer = attention(12, 3, overlap)
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        owner = layer if name == "W_O" else layer.project
        W = getattr(owner, name)
        made = torch.nn.Linear(W.in_features, W.out_features, bias=name in with_bias).double()
        setattr(owner, name, made)
    plain, x = unshared(layer), rand(2, 4, 12)
    assert_close(plain(x, mask=masks.causal), layer(x, mask=masks.causal))


def test_the_plain_form_keeps_dropout_mode_and_frozen_weights():
    layer = OverlappedAttention(12, 3, 1, bias=True, dropout=0.25).eval()
    layer.project.W_K.requires_grad_(False)
    plain = unshared(layer)
    assert plain.attend.dropout.p == 0.25
    assert not any(module.training for module in plain.modules())
    frozen = {name for name, p in plain.named_parameters() if not p.requires_grad}
    assert frozen == {"project.W_K.weight", "project.W_K.bias"}
    assert unshared(layer.train()).attend.dropout.training
    with torch.no_grad():
        plain.W_O.weight.zero_()
    assert layer.W_O.weight.abs().sum() > 0


@pytest.mark.parametrize("n_tokens", [0, 1, 5])
def test_without_overlap_and_without_tokens_it_runs_too(n_tokens):
    for overlap in (0, 2):
        heads = rand(2, 3, n_tokens, 4)
        wide = overlap_heads(heads, overlap)
        assert wide.shape == (2, 3, n_tokens, 4 + 2 * overlap)
        assert torch.equal(wide[..., overlap : overlap + 4], heads)


def test_a_head_reads_its_own_columns_and_the_nearest_of_its_neighbours():
    q = torch.arange(1.0, 13.0).expand(1, 12)
    wide = OverlappedSplit(3, 2)(q, q, q)
    assert wide[0][:, 0].tolist() == [
        [0, 0, 1, 2, 3, 4, 5, 6],
        [3, 4, 5, 6, 7, 8, 9, 10],
        [7, 8, 9, 10, 11, 12, 0, 0],
    ]
    assert torch.equal(wide[0], wide[1])
    assert torch.equal(wide[1], wide[2])


@pytest.mark.parametrize("overlap", [0, 1, 2])
def test_the_rank_of_the_scores_grows_with_the_overlap(overlap):
    layer = attention(16, 4, overlap, d_head=2)
    with trace(layer) as wires:
        layer(rand(16, 16))
    at_the_ends, inside = 2 + overlap, 2 + 2 * overlap
    found = torch.linalg.matrix_rank(wires["scores"]).tolist()
    assert found == [at_the_ends, inside, inside, at_the_ends]


def test_gradients_of_a_shared_column_come_from_both_heads():
    layer, heads = attention(), {}
    for head in range(3):
        with trace(layer) as wires:
            layer(rand(5, 12))
        layer.zero_grad()
        wires["scores"][head].square().sum().backward()
        reached = layer.project.W_K.weight.grad.abs().sum(dim=1) > 0
        heads[head] = reached.nonzero().flatten().tolist()
    assert heads == {0: [0, 1, 2, 3, 4], 1: [3, 4, 5, 6, 7, 8], 2: [7, 8, 9, 10, 11]}


# --- what it costs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d_model", "n_heads", "overlap", "d_head"),
    [(12, 3, 0, None), (12, 3, 4, None), (10, 2, 1, 3)],
)
def test_the_formula_is_what_runs(d_model, n_heads, overlap, d_head):
    layer = OverlappedAttention(d_model, n_heads, overlap, d_head=d_head)
    costs = variant_costs.overlapped(d_model, n_heads, overlap, n=7, d_head=d_head)
    with trace(layer) as wires, remember(layer) as cache:
        layer(torch.randn(7, d_model))
    names = {name.split(".")[-2]: p.numel() for name, p in layer.named_parameters()}
    assert costs.parameters == names
    assert costs.flops == {w: step.flops for w, step in wires.steps.items() if step.flops}
    assert costs.cached == {name: wire.numel() // 7 for name, wire in cache.items()}


def test_the_cache_holds_what_plain_attention_holds():
    x, caches = torch.randn(5, 12), []
    for layer in (OverlappedAttention(12, 3, 4), MultiHeadAttention(12, 3)):
        with remember(layer) as cache:
            layer(x, mask=masks.causal)
        caches.append({name: wire.shape for name, wire in cache.items()})
    assert caches[0] == caches[1]


def test_the_widths_of_heads_have_names_in_a_trace():
    layer = OverlappedAttention(12, 3, 1)
    with trace(layer) as wires:
        layer(torch.randn(5, 12))
    named = ("d_head", "d_heads", "d_wide_head", "d_wide_heads")
    assert [wires.sizes[axis] for axis in named] == [4, 12, 6, 18]


# --- bad input -------------------------------------------------------------------------------


def on_its_own(overlap):
    return OverlappedSplit(3, overlap)(*[torch.zeros(5, 12)] * 3)


def as_a_whole(overlap):
    return OverlappedAttention(12, 3, overlap)


either = pytest.mark.parametrize("build", [on_its_own, as_a_whole])


@either
@pytest.mark.bothways
@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        (
            5,
            "overlap=5 is wider than a head, d_head=4: a head reads from its two neighbours "
            "only; use 0 to 4.",
        ),
        (-1, "overlap=-1 is below zero; use 0 to share nothing."),
    ],
)
def test_overlaps_that_cannot_be(build, overlap, words):
    with pytest.raises(ValueError) as found:  # noqa: PT011  the whole message is compared
        build(overlap)
    assert str(found.value) == words


@either
@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize("overlap", [1.5, True, "1", None])
def test_an_overlap_is_a_whole_number(build, overlap):
    with pytest.raises(TypeError) as found:
        build(overlap)
    assert (
        str(found.value)
        == f"overlap={overlap!r} is not a whole number of columns; pass an int."
    )


@pytest.mark.bothways
def test_sizes_and_masks_are_refused_as_in_plain_attention():
    with pytest.raises(ValueError, match="n_heads=5 does not divide d_model=12"):
        OverlappedAttention(12, 5, 1)
    with pytest.raises(ValueError, match="n_heads=0 is not a size"):
        OverlappedSplit(0, 1)
    with pytest.raises(ValueError, match="x is 8 wide"):
        OverlappedAttention(12, 3, 1)(torch.zeros(5, 8))
    with pytest.raises(TypeError, match="bool"):
        OverlappedAttention(12, 3, 1)(torch.zeros(5, 12), mask=torch.ones(5, 5))


def test_a_free_function_takes_any_leading_axes():
    heads = rand(2, 3, 4, 5, 6)
    assert_close(overlap_heads(heads, 3)[1, 2], overlap_heads(heads[1, 2], 3))
