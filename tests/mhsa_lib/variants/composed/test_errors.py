"""Sizes, parts and caches that do not fit composed heads are refused."""

import pytest
import torch

from mhsa_book.costs import variant_costs
from mhsa_lib import masks
from mhsa_lib.cache import kv_cache
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import Compose, Gate, LowRank, Static
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.composed.layers import attention


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
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
            "Static was made for {'n_heads': 4}, but the attention has {'d_model': 12, "
            "'n_heads': 3}; make it for these sizes.",
        ),
        (
            lambda: ComposedAttention(12, 3, post=Compose(Gate(16, 3, "post", "key"))),
            ValueError,
            "Gate was made for {'d_model': 16, 'n_heads': 3}, but the attention has "
            "{'d_model': 12, 'n_heads': 3}; make it for these sizes.",
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
    ids=range(7),
)
def test_bad_sizes_are_refused_with_a_repair(build, error, words):
    with pytest.raises(error) as caught:
        build()
    assert str(caught.value) == words


@pytest.mark.bothways
def test_a_cache_of_another_batch_is_refused_and_stays():
    layer = attention()
    with kv_cache(layer) as cache:
        layer(rand(2, 3, 12), mask=masks.causal)
        before = {wire: value.clone() for wire, value in cache.wires.items()}
        with pytest.raises(ValueError, match=r"batch \(2,\) on cpu, but x has \(3,\)"):
            layer(rand(3, 1, 12), mask=masks.causal)
        assert all(torch.equal(cache.wires[wire], before[wire]) for wire in before)
