"""Overlapping heads compute what the authors' code gives; so do the schedules."""

import pytest
from torch import nn

from mhsa_book.costs.variant_costs import OVERLAP_SCHEDULES
from mhsa_lib import trace
from mhsa_lib.variants import OverlappedAttention
from tests.mhsa_lib.variants.stored import numbers, stored_cases

CASES = stored_cases("overlapped")
TOO_WIDE = "overlap_beyond_d_k"


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
    with pytest.raises(ValueError, match="overlap=5 does not fit d_head=4"):
        of_the_authors(case["settings"], case["weights"])


@pytest.mark.parametrize("n_layers", [12, 5])
def test_the_eight_schedules_are_those_of_the_authors_code(n_layers):
    ours = {
        name: [overlap(layer, n_layers) for layer in range(n_layers)]
        for name, overlap in OVERLAP_SCHEDULES.items()
    }
    assert ours == CASES[f"schedules_L{n_layers}"]["outputs"]
