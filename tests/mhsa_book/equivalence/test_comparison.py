"""The equivalence wall: every implementation, every mask, both precisions, all sizes."""

from dataclasses import replace

import pytest
import torch

from mhsa_book.equivalence import comparison
from mhsa_lib import masks
from tests.helpers.fused_paths import PATHS

pytestmark = pytest.mark.nohook  # other tests check these shapes, of fewer calls

IMPLEMENTATIONS = {
    "loops",
    "list of heads",
    "five stages",
    "five stages, boolean mask",
    "fused",
    "fused, boolean mask",
    "fused, additive mask converted",
    "nn.MultiheadAttention, weights",
    "nn.MultiheadAttention, no weights",
    "nn.MultiheadAttention, fast path",
    "converted from torch",
    "BERT layer",
    "converted from BERT",
    "GPT-2 layer",
    "converted from GPT-2",
}
OURS = IMPLEMENTATIONS - comparison.FOREIGN


@pytest.fixture(scope="module")
def results():
    return comparison.build()


@pytest.mark.parametrize("path", PATHS)
def test_every_way_of_the_fused_module_computes_the_same_function(path):
    results = comparison.build(names=[path], extra=PATHS)
    assert [result for result in results if not result.passed] == []
    assert sum(result.delta is not None for result in results) >= 30


def test_the_wall_has_every_implementation(results):
    assert set(comparison.implementations()) == IMPLEMENTATIONS
    assert {result.implementation for result in results} == IMPLEMENTATIONS


@pytest.mark.parametrize("name", sorted(IMPLEMENTATIONS))
def test_every_implementation_computes_the_same_function(results, name):
    mine = [result for result in results if result.implementation == name]
    wrong = [result for result in mine if not result.passed]
    assert wrong == []
    deltas = [result.delta for result in mine if result.delta is not None]
    print(f"{name}: {len(deltas)} cases, max |Δ| = {max(deltas):.1e}")


def test_the_sizes_leave_no_case_out():
    sizes = comparison.SIZES
    assert any(size.bias for size in sizes)
    assert any(not size.bias for size in sizes)
    assert any(size.n_query < size.n_key for size in sizes)
    assert any(size.d_head is not None for size in sizes)
    assert any(size.n_query == 1 for size in sizes)
    assert any(size.n_heads % 2 == 0 and size.bias for size in sizes)


def test_what_is_not_compared_says_why(results):
    silent = [result for result in results if result.delta is None]
    assert all(result.reason for result in silent)
    assert {result.reason for result in silent} <= {
        "d_head is fixed",
        "self-attention only",
        "even n_heads only",
        "needs biases",
        "always causal",
        "no query sees anything",
    }


@pytest.mark.parametrize("name", ["five stages", "five stages, boolean mask", "fused", "loops"])
def test_our_own_express_every_case(results, name):
    assert all(result.delta is not None for result in results if result.implementation == name)


def test_every_implementation_is_compared_under_no_mask_and_some_mask(results):
    for name in IMPLEMENTATIONS:
        compared = {r.mask for r in results if r.implementation == name and r.delta is not None}
        assert "causal" in compared, name
        assert "none" in compared or name == "GPT-2 layer", name


def test_the_matrix_shows_the_largest_difference_over_the_sizes(results):
    cells = comparison.matrix(results, torch.float64)
    assert set(cells) == IMPLEMENTATIONS
    mine = [
        r.delta
        for r in results
        if (r.implementation, r.mask, r.dtype) == ("fused", "causal", torch.float64)
    ]
    assert cells["fused"]["causal"] == max(mine)
    assert isinstance(cells["GPT-2 layer"]["none"], str)


def test_a_nan_is_the_largest_difference_of_all(results):
    some = [r for r in results if (r.implementation, r.mask) == ("fused", "none")]
    broken = [replace(some[0], delta=float("nan")), *some, replace(some[0], delta=float("nan"))]
    for order in (broken[:-1], broken[1:]):
        cell = comparison.matrix(order, some[0].dtype)["fused"]["none"]
        assert cell != cell, cell


def test_a_wrong_implementation_makes_the_wall_red():
    size = comparison.SIZES[0]
    wrong = comparison.build(
        [size],
        [torch.float64],
        ["forgets the mask"],
        extra={"forgets the mask": lambda case: case.attention(case.x, case.context)},
    )
    by_mask = {result.mask: result.passed for result in wrong}
    assert by_mask["none"]
    assert not by_mask["causal"]


def test_a_difference_beyond_the_tolerance_of_its_precision_fails():
    result = comparison.build([comparison.SIZES[0]], [torch.float64], ["fused"])[0]
    assert replace(result, delta=9e-11).passed
    assert not replace(result, delta=2e-10).passed
    assert replace(result, delta=9e-6, dtype=torch.float32).passed
    assert not replace(result, delta=2e-5, dtype=torch.float32).passed
    assert not replace(result, delta=float("nan")).passed


def test_the_additive_mask_of_a_case_is_its_boolean_mask():
    kinds = comparison.mask_kinds(comparison.SIZES[0])
    x, context = comparison.draw_inputs(comparison.SIZES[0], 0)
    case = comparison.Case(
        comparison.draw_attention(comparison.SIZES[0], 0),
        x,
        context,
        kinds["causal & key padding"],
    )
    assert torch.equal(masks.from_additive(case.additive), case.dense)


def test_an_output_of_the_wrong_shape_is_not_broadcast():
    squeezed = {"one row": lambda c: c.attention(c.x, c.context, c.predicate)[:, :1]}
    results = comparison.build(
        [comparison.Size(1, 3, 3, 4, 2)], names=["one row"], extra=squeezed
    )
    assert not any(result.passed for result in results)
