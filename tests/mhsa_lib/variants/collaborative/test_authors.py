"""Collaborative attention computes what the authors' code gives, conversion included."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.conversions.to_collaborative import (
    block_indicator,
    comparisons,
    decompose,
    to_collaborative,
)
from mhsa_lib import MultiHeadAttention, edit, trace
from mhsa_lib.variants import CollaborativeAttention
from tests.mhsa_lib.variants.stored import numbers, stored_cases

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
