"""The fused module is the function of the five stages, and its gradients."""

import re
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_book import naive
from mhsa_lib import FusedMultiHeadAttention, masks
from tests.helpers.drawn import cases, mha, rand
from tests.mhsa_lib.fused.pairs import fuse


@given(cases())
def test_it_equals_the_five_stages(case):
    assert_close(fuse(case.attention)(*case.inputs), case.attention(*case.inputs))


@given(cases(max_batch_axes=1))
def test_it_equals_the_loops_under_any_mask(case):
    mask = case.any_mask()
    expected = naive.loops(case.attention, *case.inputs, mask=mask)
    assert_close(fuse(case.attention)(*case.inputs, mask=mask), expected)


@given(cases())
def test_it_equals_the_five_stages_under_a_causal_mask_for_all_lengths(case):
    expected = case.attention(*case.inputs, mask=masks.causal)
    assert_close(fuse(case.attention)(*case.inputs, mask=masks.causal), expected)


@pytest.mark.parametrize("lengths", [(1, 1), (1, 5), (2, 5), (5, 5), (5, 2)], ids=str)
def test_under_a_causal_mask_the_queries_are_the_last_positions(lengths):
    attention, (x, context) = mha(bias=True), (rand(2, n, 12) for n in lengths)
    expected = naive.loops(attention, x, context, masks.causal.dense(*lengths))
    assert_close(fuse(attention)(x, context, mask=masks.causal), expected)


PREDICATES = {
    "window": masks.sliding_window(2),
    "prefix": masks.prefix(2),
    "padding": masks.padding([5, 3]),
    "key padding": masks.key_padding([5, 3]),
    "causal & padding": masks.causal & masks.padding([5, 3]),
    "not causal": ~masks.causal,
    "nothing": masks.causal & ~masks.causal,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_it_equals_the_five_stages_under_predicates(name):
    attention, x = mha(bias=True), rand(2, 5, 12)
    expected = attention(x, mask=PREDICATES[name])
    assert_close(fuse(attention)(x, mask=PREDICATES[name]), expected)


@given(cases())
def test_gradients_are_those_of_the_five_stages(case):
    attention, fused = case.attention, fuse(case.attention)
    attention(*case.inputs, mask=masks.causal).square().sum().backward()
    fused(*case.inputs, mask=masks.causal).square().sum().backward()
    project = attention.project
    packed = [W.weight.grad for W in (project.W_Q, project.W_K, project.W_V)]
    names = ("W_QKV",) if fused.d_context == fused.d_model else ("W_Q", "W_KV")
    found = [getattr(fused, name).weight.grad for name in names]
    assert_close(*(torch.cat([grad.flatten() for grad in each]) for each in (found, packed)))
    assert_close(fused.W_O.weight.grad, attention.W_O.weight.grad)


@given(cases(cross=False), st.data())
def test_the_future_cannot_change_the_past(case, data):
    cut, fused = data.draw(st.integers(0, case.n_query - 1)), fuse(case.attention)
    changed = case.x.clone()
    changed[..., cut:, :] += 1.0
    before, after = (fused(x, mask=masks.causal) for x in (case.x, changed))
    assert_close(before[..., :cut, :], after[..., :cut, :])


def test_what_came_in_stays_as_it_is():
    fused, x = FusedMultiHeadAttention(12, 3, d_context=8), torch.randn(2, 300, 12)
    fused.W_Q, before = nn.Identity(), x.clone()
    with torch.no_grad():
        fused(x, torch.randn(2, 300, 8))
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_call_gives_the_same_bits_in_every_run(dtype):
    """No stopwatch and no measurement decides which kernel runs."""
    fused, x = FusedMultiHeadAttention(64, 4).to(dtype), torch.randn(2, 200, 64).to(dtype)
    with torch.no_grad():
        first, again = fused(x, mask=masks.causal), fused(x, mask=masks.causal)
    assert torch.equal(first, again)
    sources = [
        Path(module.__file__)
        for name, module in sys.modules.items()
        if module and name.startswith("mhsa_lib")
    ]
    clocks = re.compile(
        r"^(import|from) (time|timeit)\b|perf_counter|process_time", re.MULTILINE
    )
    assert [file for file in sources if clocks.search(file.read_text(encoding="utf-8"))] == []
