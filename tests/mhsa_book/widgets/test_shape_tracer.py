"""The shape tracer: the same numbers as a trace, mistakes in the words of the library."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from traitlets import TraitError

from mhsa_book.widgets import ShapeTracer
from mhsa_book.widgets.shape_tracer import recipe
from mhsa_lib import MultiHeadAttention, checks, trace
from mhsa_lib.shapes import HeadOutputs, HeadRows
from mhsa_lib.stages import Concat
from mhsa_lib.tracing.drawing import short
from mhsa_lib.variants import GroupedQueryAttention
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.library_words import words_of
from tests.mhsa_lib.variants.registry import STAGED


def grouped(d_model: int, n_heads: int, n_kv_heads: int, d_head: int) -> MultiHeadAttention:
    return GroupedQueryAttention(d_model, n_heads, n_kv_heads, d_head=d_head)


@st.composite
def sizes(draw):
    n_kv_heads, group, d_head = (draw(st.integers(1, 6)) for _ in range(3))
    n_heads = n_kv_heads * group
    free = draw(st.booleans())
    return {
        "batch": draw(st.integers(1, 5)),
        "seq": draw(st.integers(1, 40)),
        "d_model": draw(st.integers(1, 50)) if free else n_heads * d_head,
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "d_head": d_head if free else None,
    }


def in_javascript(given, itemsize: int):
    """Rows and totals of the ledger, computed by the page's own code."""
    (axes,) = node("shape_tracer/ledger", ("axisSizes", given))
    (rows,) = node("shape_tracer/ledger", ("ledger", recipe(), axes, itemsize))
    (sums,) = node("shape_tracer/ledger", ("totals", rows))
    return rows, sums


def traced(given, dtype):
    width = given["d_head"] or given["d_model"] // given["n_heads"]
    with torch.device("meta"):
        mha = grouped(given["d_model"], given["n_heads"], given["n_kv_heads"], width).to(dtype)
        x = torch.empty(given["batch"], given["seq"], given["d_model"], dtype=dtype)
    with torch.no_grad(), trace(mha) as wires:
        mha(x)
    return mha, wires


@settings(max_examples=12, deadline=None)
@given(given=sizes(), dtype=st.sampled_from([torch.float32, torch.float64, torch.float16]))
def test_every_number_is_that_of_a_trace(given, dtype):
    mha, wires = traced(given, dtype)
    rows, sums = in_javascript(given, dtype.itemsize)
    for row, step in zip(rows, wires.steps.values(), strict=True):
        assert (row["wire"], tuple(row["shape"])) == (step.name, step.shape)
        assert row["axes"] == list(step.axes)
        assert (row["result"], row["bytes"]) == (step.result, step.bytes)
        assert row["flops"] == step.flops
    assert sums["parameters"] == sum(p.numel() for p in mha.parameters())
    assert sums["flops"] == wires.flops


@pytest.mark.parametrize("variant", STAGED, ids=lambda variant: variant.name)
def test_it_takes_every_variant_and_follows_its_trace(variant):
    attention = variant.build().requires_grad_(False)
    tracer = ShapeTracer.of(attention)
    inputs = [{"batch": b, "seq": n} for b, n in ((1, 1), (3, 1), (1, 4), (2, 9))]
    axes = node("shape_tracer/ledger", *[("axisSizes", each, tracer.fixed) for each in inputs])
    ledgers = node(
        "shape_tracer/ledger", *[("ledger", tracer.recipe, each, 4) for each in axes]
    )
    for each, rows in zip(inputs, ledgers, strict=True):
        with torch.no_grad(), trace(attention) as wires:
            attention(torch.zeros(each["batch"], each["seq"], attention.d_model))
        for row, step in zip(rows, wires.steps.values(), strict=True):
            assert (row["wire"], tuple(row["shape"])) == (step.name, step.shape)
            assert (row["result"], row["flops"]) == (step.result, step.flops), step.name
    total = sum(parameter.numel() for parameter in attention.parameters())
    assert sum(row["parameters"] for row in rows) == total


def test_flops_that_grow_in_another_way_are_refused():
    class Cubic(Concat):
        def forward(self, z: HeadOutputs) -> HeadRows:
            n = z.shape[-2]
            return super().forward(z) + (torch.ones(n, n * n) @ torch.ones(n * n, 1)).sum() * 0

    with pytest.raises(ValueError, match="a dial follows only those that grow with seq"):
        ShapeTracer.of(MultiHeadAttention(12, 3, concat=Cubic()))


def test_sizes_that_do_not_go_together_are_refused_in_the_words_of_the_library():
    cases = [(d, h, g) for d in range(1, 14) for h in range(1, 8) for g in range(1, 8)]
    calls = [
        ("wrongSizes", {"d_model": d, "n_heads": h, "n_kv_heads": g, "d_head": None})
        for d, h, g in cases
    ]
    for (d, h, g), said in zip(cases, node("shared/size_rules", *calls), strict=True):
        wanted = words_of(checks.head_width, d, h)
        if wanted is None and h % g:
            (part, count), (whole, size) = ("n_kv_heads", g), ("n_heads", h)
            wanted = words_of(lambda s, c: checks.divides(n_heads=s, n_kv_heads=c), size, count)
            assert f"{part}={count} does not divide {whole}={size}" in wanted
        assert said == wanted


def test_counts_are_shortened_as_in_the_ledger_of_a_trace():
    counts = [0, 7, 999, 9_999, 10_000, 10_050, 99_949, 99_999, 999_499, 999_500, 33_554_432]
    counts += [2**k for k in range(10, 53)] + [10**k - 1 for k in range(4, 15)]
    found = node("shared/numbers", *[("short", count) for count in counts])
    assert found == [short(count) for count in counts]


def test_a_size_outside_its_dial_is_refused():
    with pytest.raises(TraitError, match=r"'n_heads'.* not be greater than 128.*200"):
        ShapeTracer(n_heads=200)


def test_the_figure_survives_when_its_numbers_come_back_from_python():
    tracer = ShapeTracer(n_heads=3)
    tracer.seq, tracer.d_head, tracer.dtype = 64, 16, "bfloat16"
    state = tracer.state()
    assert (state["seq"], state["d_head"], state["dtype"]) == (64, 16, "bfloat16")
    assert '"seq": 64' in tracer.html()
