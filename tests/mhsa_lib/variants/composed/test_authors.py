"""Dynamically composed heads compute what the authors' code gives."""

import pytest
import torch

from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import LowRank, Static, five_branches
from tests.mhsa_lib.variants.stored import numbers, stored_cases

CASES = stored_cases("composed")
BRANCHES = {"pre_query": 0, "pre_key": 1, "post_query": 2, "post_key": 3}
NEAR = 1e-10


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
    with kv_cache(layer):
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
