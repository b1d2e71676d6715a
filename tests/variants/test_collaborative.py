"""Collaborative attention: the authors' numbers, what sharing means, costs, bad input."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, edit, trace
from mhsa_lib.cache.remembering import remember
from mhsa_lib.convert.to_collaborative import (
    comparisons,
    decompose,
    to_collaborative,
    truncated,
)
from mhsa_lib.costs import variant_costs
from mhsa_lib.rope.rotary import Rotary
from mhsa_lib.rope.rotary_split import RotarySplit
from mhsa_lib.variants import CollaborativeAttention, GroupedQueryAttention
from mhsa_lib.variants.collaborative import block_indicator, normal_mixing
from tests.helpers.drawn import filled, rand
from tests.variants.stored import numbers, stored_cases

CASES = stored_cases("collaborative")
LAYERS = [name for name in CASES if not name.startswith("swap")]
BOOLEAN = [name for name in LAYERS if CASES[name]["settings"]["mask"] in ("padding", "causal")]


def of_the_authors(name):
    """Their layer in our stages."""
    settings = CASES[name]["settings"]
    stored = {key: numbers(values) for key, values in CASES[name]["weights"].items()}
    built = CollaborativeAttention(
        settings["dim_input"],
        settings["num_attention_heads"],
        settings["dim_key_query_all"],
        d_head=settings["dim_value_all"] // settings["num_attention_heads"],
        bias=True,
        W_O=nn.Linear(settings["dim_value_all"], settings["dim_output"]),
    ).double()
    ours = {"query": "project.W_Q", "key": "project.W_K", "value": "project.W_V"}
    ours |= {"content_bias": "content.W_C", "dense": "W_O", "mixing": "split.mixing"}
    built.load_state_dict(
        {
            ".".join([ours[key.split(".")[0]], *key.split(".")[1:]]): value
            for key, value in stored.items()
        }
    )
    return built


def plain_of_the_authors(name):
    """The ordinary layer that their code converted."""
    settings, weights = CASES[name]["settings"], CASES[name]["weights"]
    plain = MultiHeadAttention(
        settings["dim_input"], settings["num_attention_heads"], bias=True
    ).double()
    ours = {"query": "project.W_Q", "key": "project.W_K", "value": "project.W_V"}
    ours |= {"dense": "W_O"}
    plain.load_state_dict(
        {
            f"{ours[key.split('.')[0]]}.{key.split('.')[1]}": numbers(w)
            for key, w in weights.items()
        }
    )
    return plain


def inputs(name):
    given = CASES[name]["inputs"]
    context = given.get("encoder_hidden_states")
    return numbers(given["x"]), None if context is None else numbers(context)


# --- the authors' code -----------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYERS)
def test_every_wire_agrees_with_the_authors_code(name):
    """Their masks are added to the scores, so an edit adds them to ours."""
    layer, outputs = of_the_authors(name), CASES[name]["outputs"]
    added = numbers(CASES[name]["inputs"].get("attention_mask", 0.0))
    with edit(layer, "scores", lambda scores: scores + added), trace(layer) as wires:
        layer(*inputs(name))
    found = {"scores": wires["scores"], "attn": wires["weights"], "y": wires["y"]}
    for wire in outputs:
        assert (found[wire] - numbers(outputs[wire])).abs().max() < 1e-10, wire


@pytest.mark.parametrize("name", BOOLEAN)
def test_a_boolean_mask_does_what_their_large_negative_numbers_do(name):
    may_look = numbers(CASES[name]["inputs"]["attention_mask"]) == 0
    y = of_the_authors(name)(*inputs(name), mask=may_look)
    assert (y - numbers(CASES[name]["outputs"]["y"])).abs().max() < 1e-10


def test_there_are_cases_with_uneven_blocks_masks_and_a_context():
    assert len(LAYERS) == 10
    assert len(BOOLEAN) == 3


@pytest.mark.parametrize("name", [name for name in LAYERS if name.startswith("concatenate")])
def test_block_indicator_is_their_mixing_also_where_heads_do_not_divide(name):
    theirs = numbers(CASES[name]["weights"]["mixing"])
    assert torch.equal(block_indicator(*theirs.shape), theirs.float())


def test_a_converted_layer_agrees_with_theirs():
    case = CASES["swap_same_width"]
    plain = plain_of_the_authors("swap_same_width")
    x, outputs = numbers(case["inputs"]["x"]), case["outputs"]
    shared = to_collaborative(plain)
    with trace(plain) as old, trace(shared) as new:
        plain(x), shared(x)
    assert (old["y"] - numbers(outputs["y_old"])).abs().max() < 1e-10
    assert (new["y"] - numbers(outputs["y"])).abs().max() < 1e-10
    assert (new["scores"] - numbers(outputs["scores"])).abs().max() < 1e-10
    assert (old["scores"] - numbers(outputs["scores_old"])).abs().max() < 1e-10
    assert_close(shared.content.W_C.weight, numbers(outputs["new.content_bias.weight"]))
    assert torch.equal(shared.split.mixing, numbers(outputs["new.mixing"]))


def test_a_smaller_width_loses_no_more_than_the_best_of_their_ten_random_starts():
    theirs = CASES["swap_smaller_D6"]["outputs"]["relative_error_ten_seeds"]
    heads = comparisons(plain_of_the_authors("swap_smaller_D6"))
    as_theirs = {"n_sweeps": 100, "tolerance": 1e-6}
    assert 0.99 * min(theirs) < decompose(*heads, 6, **as_theirs).error < min(theirs)


# --- what it is ------------------------------------------------------------------------------


def test_each_score_is_the_sum_over_shared_columns_that_the_paper_writes():
    layer = CollaborativeAttention(6, 2, 5, mixing=normal_mixing(2, 5)).double()
    x, context = rand(3, 6), rand(4, 6)
    with trace(layer) as wires:
        layer(x, context)
    W_Q, W_K, W_C = (
        W.weight.T for W in (layer.project.W_Q, layer.project.W_K, layer.content.W_C)
    )
    for head in range(2):
        for query in range(3):
            for key in range(4):
                dot = sum(
                    (x[query] @ W_Q[:, d])
                    * layer.split.mixing[head, d]
                    * (context[key] @ W_K[:, d])
                    for d in range(5)
                )
                score = (dot + context[key] @ W_C[:, head]) / (5 / 2) ** 0.5
                assert_close(wires["scores"][head, query, key], score)


def test_equal_rows_of_mixing_and_content_make_equal_heads():
    layer = CollaborativeAttention(12, 3, 6, mixing=torch.ones(3, 6))
    nn.init.zeros_(layer.content.W_C.weight)
    with trace(layer) as wires:
        layer(torch.randn(5, 12))
    assert torch.equal(wires["weights"][0], wires["weights"][1])
    assert torch.equal(wires["weights"][0], wires["weights"][2])


def test_it_begins_as_the_released_code_does():
    layer = CollaborativeAttention(768, 12, 192)
    assert layer.attend.scale == pytest.approx(16**-0.5)
    assert layer.split.mixing.std().item() == pytest.approx(0.2, rel=0.1)
    assert layer.split.mixing.mean().item() == pytest.approx(0, abs=0.02)
    assert layer.project.W_Q.bias is layer.project.W_K.bias is layer.content.W_C.bias is None


def test_the_rank_of_a_heads_scores_is_no_longer_bounded_by_d_head():
    plain, shared = MultiHeadAttention(16, 8).double(), CollaborativeAttention(16, 8).double()
    nn.init.zeros_(shared.content.W_C.weight)
    x, ranks = rand(16, 16), {}
    for layer in (plain, shared):
        with trace(layer) as wires:
            layer(x)
        ranks[layer] = torch.linalg.matrix_rank(wires["scores"]).tolist()
    assert ranks == {plain: [2] * 8, shared: [16] * 8}


# --- the decomposition -----------------------------------------------------------------------


def plain(d_model=12, n_heads=3, **options):
    torch.manual_seed(0)
    return filled(MultiHeadAttention(d_model, n_heads, **options).double())


@given(
    d_model=st.integers(2, 9),
    n_heads=st.integers(1, 4),
    d_head=st.integers(1, 4),
    bias=st.booleans(),
)
def test_at_full_width_it_is_the_same_function(d_model, n_heads, d_head, bias):
    layer = plain(d_model, n_heads, d_head=d_head, bias=bias)
    x, context = rand(2, 3, d_model), rand(2, 5, d_model)
    assert_close(to_collaborative(layer)(x, context), layer(x, context))


def test_the_error_falls_in_every_sweep_and_with_every_column():
    W_Q, W_K = comparisons(plain())
    errors = []
    for d_shared in (2, 4, 6, 8, 10, 12):
        found = decompose(W_Q, W_K, d_shared, n_sweeps=20)
        assert all(later <= sooner + 1e-12 for sooner, later in pairwise(found.errors))
        assert found.errors[0] == truncated(W_Q, W_K, d_shared).error
        assert found.error == pytest.approx(
            ((found.heads() - W_Q @ W_K.mT).norm() / (W_Q @ W_K.mT).norm()).item()
        )
        errors.append(found.error)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-12 < errors[-2]


def test_without_sharing_nothing_beats_the_largest_singular_values():
    W_Q, W_K = comparisons(plain())
    values = torch.linalg.svdvals(W_Q @ W_K.mT).flatten().sort(descending=True).values
    for d_shared in (1, 5, 11):
        lost = values[d_shared:].square().sum() / values.square().sum()
        assert truncated(W_Q, W_K, d_shared).error == pytest.approx(lost.sqrt().item())


def test_heads_that_do_share_are_found_to_share():
    """Four heads of width 4, made of 5 shared columns: 5 suffice instead of 16."""
    torch.manual_seed(0)
    q, mixing, k = rand(12, 5), rand(4, 5), rand(12, 5)
    left, values, right = torch.linalg.svd((q * mixing[:, None]) @ k.mT)
    W_Q, W_K = left[..., :5] * values[:, None, :5], right.mT[..., :5]
    assert truncated(W_Q, W_K, 5).error > 0.3
    assert decompose(W_Q, W_K, 5, n_sweeps=2000, tolerance=0.0).error < 1e-4


def test_the_old_scale_the_mode_and_the_dropout_stay():
    layer = plain(bias=True, dropout=0.25).eval()
    shared = to_collaborative(layer, 6)
    assert shared.attend.scale == layer.attend.scale == 0.5
    assert (shared.attend.dropout.p, shared.training) == (0.25, False)
    assert to_collaborative(layer.float().train(), 6).training
    assert to_collaborative(layer.float(), 6).split.mixing.dtype is torch.float32


def test_the_layer_that_was_converted_stays_as_it_was():
    layer, x = plain(bias=True), rand(5, 12)
    before = layer(x)
    shared = to_collaborative(layer, 6)
    with torch.no_grad():
        for parameter in shared.parameters():
            parameter.zero_()
    assert torch.equal(layer(x), before)


# --- what it costs ---------------------------------------------------------------------------

SIZE = st.integers(1, 5)


@given(SIZE, SIZE, SIZE, SIZE, SIZE)
def test_the_formula_is_what_is_learned_computed_and_kept(
    d_model, n_heads, d_head, d_shared, n
):
    layer = CollaborativeAttention(d_model, n_heads, d_shared, d_head=d_head)
    formula = variant_costs.collaborative(d_model, n_heads, d_shared, n=n, d_head=d_head)
    learned = {
        name.split(".")[-2 if "weight" in name else -1]: p.numel()
        for name, p in layer.named_parameters()
    }
    assert formula.parameters == learned
    with trace(layer) as wires:
        layer(torch.randn(n, d_model))
    counted = {name: step.flops for name, step in wires.steps.items() if step.flops}
    assert formula.flops == counted
    with remember(layer) as cache:
        layer(torch.randn(n, d_model))
    assert formula.cached == {name: wire.numel() // n for name, wire in cache.items()}


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"d_shared": 0}, ValueError, "d_shared=0 is not a size; it must be at least 1."),
        (
            {"d_shared": 6, "mixing": torch.ones(6, 3)},
            ValueError,
            "mixing has shape (6, 3), but n_heads=3 and d_shared=6; pass a tensor (3, 6).",
        ),
        (
            {"scale": -0.5},
            ValueError,
            "scale=-0.5 turns the scores around; it must be above 0.",
        ),
        (
            {"dropout": 1.0},
            ValueError,
            "dropout=1.0 is not a probability; it must be at least 0 and less than 1.",
        ),
    ],
)
def test_sizes_and_parts_that_cannot_be(options, kind, words):
    with pytest.raises(kind) as error:
        CollaborativeAttention(12, 3, **options)
    assert str(error.value) == words


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d_shared": 2.5}, "d_shared=2.5 is not a whole number; pass an int."),
        ({"mixing": "ones"}, "mixing is a str; pass a tensor (3, 12)."),
    ],
)
def test_parts_of_another_type_are_refused(options, words):
    with pytest.raises(TypeError) as error:
        CollaborativeAttention(12, 3, **options)
    assert str(error.value) == words


@pytest.mark.bothways
def test_a_width_that_does_not_divide_is_told_the_repair():
    with pytest.raises(ValueError, match="n_heads=4 does not divide d_model=10; try d_model=8"):
        CollaborativeAttention(10, 4)
    assert CollaborativeAttention(10, 4, d_head=3).d_shared == 12


@pytest.mark.bothways
def test_tokens_of_another_width_or_type_are_refused():
    layer = CollaborativeAttention(12, 3, 6)
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(2, 5, 8\), but d_model=12"):
        layer(torch.zeros(2, 5, 8))
    with pytest.raises(TypeError, match=r"context has dtype torch.int64"):
        layer(torch.zeros(5, 12), torch.zeros(5, 12, dtype=torch.long))
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(3,\)"):
        layer(torch.zeros(2, 5, 12), torch.zeros(3, 5, 12))


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (GroupedQueryAttention(12, 6, 2), "split=GroupedSplit is not decomposed; only"),
        (
            MultiHeadAttention(12, 3, split=RotarySplit(3, Rotary(4))),
            "split=RotarySplit is not decomposed; only Split is known there: "
            "pass the standard stages",
        ),
        (FusedMultiHeadAttention(12, 3), r"take to_attention\(\)"),
    ],
)
def test_only_plain_attention_is_decomposed(layer, words):
    with pytest.raises((TypeError, ValueError), match=words):
        to_collaborative(layer)


@pytest.mark.bothways
def test_a_shared_width_beyond_all_heads_is_refused():
    with pytest.raises(
        ValueError,
        match=r"d_shared=13 is wider than all heads side by side; .* exact at d_shared=12",
    ):
        to_collaborative(plain(), 13)
    with pytest.raises(ValueError, match="d_shared=0 is not a size"):
        to_collaborative(plain(), 0)


def test_an_empty_container_stands_in_for_the_content_bias():
    empty = nn.Sequential()
    assert CollaborativeAttention(12, 3, 12, content=empty).content is empty
