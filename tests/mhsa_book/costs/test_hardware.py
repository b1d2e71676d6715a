"""What is timed is what is counted, and the two agree within a stated factor."""

import pytest
import torch

from mhsa_book.costs import hardware, roofline
from mhsa_book.costs.configurations import ACCELERATORS
from mhsa_book.costs.roofline import Rates, ridge, seconds
from mhsa_book.profiling.timing import one_core
from mhsa_lib import GroupedQueryAttention, trace_ops

FACTOR = 4
"""A stage takes at most so many times as long as the roofline allows, and never a quarter."""


def calls(n_query, n_key, n_kv_heads, *, fused, batch=2):
    mha = GroupedQueryAttention(32, 8, n_kv_heads)
    x = torch.randn(batch, n_query, 32)
    q, k, v = mha.split(*mha.project(x, x))
    if n_key != n_query:
        k, v = (torch.randn(batch, n_kv_heads, n_key, 4) for _ in range(2))
    make = hardware._fused if fused else hardware._unfused
    return mha, (x, q, k, v), make(mha, x, q, k, v)


SIZES = pytest.mark.parametrize(
    ("n_query", "n_key", "n_kv_heads"), [(6, 6, 8), (6, 6, 2), (1, 9, 8), (1, 9, 2), (1, 9, 1)]
)


@pytest.mark.parametrize("fused", [True, False])
@SIZES
def test_what_is_timed_computes_the_flops_that_are_counted(n_query, n_key, n_kv_heads, fused):
    _, _, timed = calls(n_query, n_key, n_kv_heads, fused=fused)
    work = (roofline.stages if fused else roofline.steps)(
        n_query, 32, 8, n_key=n_key, n_kv_heads=n_kv_heads, batch=2
    )
    found = {name: trace_ops(call).flops for name, call in timed.items()}
    assert found == {name: part.flops for name, part in work.items()}


@SIZES
def test_what_is_timed_is_attention(n_query, n_key, n_kv_heads):
    mha, (_, q, k, v), fused = calls(n_query, n_key, n_kv_heads, fused=True)
    _, _, unfused = calls(n_query, n_key, n_kv_heads, fused=False)
    z = mha.attend(q, k, v)
    torch.testing.assert_close(fused["scores + mix"]().reshape(z.shape), z)
    assert unfused["mix"]().shape == z.shape
    assert unfused["W_O"]().shape == (2, n_query, 32)


def test_in_decoding_the_queries_that_share_a_key_are_rows_of_one_head():
    """So that the kernel reads each key once, as the formula says."""
    _, (_, q, k, _), timed = calls(1, 9, 2, fused=True)
    assert (q.shape, k.shape) == ((2, 8, 1, 4), (2, 2, 9, 4))
    assert timed["scores + mix"]().shape == (2, 2, 4, 4)
    ops = trace_ops(timed["scores + mix"])
    assert sum(op.bytes for op in ops if op.result == "new memory") < 2 * 2 * 9 * 4 * 4


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_query": 256},
        {"n_query": 1, "n_key": 2048},
        {"n_query": 1, "n_key": 512, "batch": 64},
    ],
    ids=["prefill", "decode", "decode, 64 at once"],
)
def test_measured_time_is_within_the_factor_of_what_the_roofline_allows(sizes):
    """Load makes a run slower, never faster: of five tries the best one counts."""
    work = roofline.stages(d_model=1024, n_heads=16, itemsize=4, **sizes)
    best, peak, bandwidth = dict.fromkeys(work, float("inf")), 0.0, 0.0
    for _ in range(5):
        with one_core():
            here = hardware.measured("cpu")
            times = hardware.stage_seconds(d_model=1024, n_heads=16, device="cpu", **sizes)
        peak, bandwidth = max(peak, here.peak), max(bandwidth, here.bandwidth)
        best = {name: min(best[name], times[name]) for name in best}
        ratios = [best[n] / seconds(work[n], peak, bandwidth) for n in work]
        if max(ratios) < FACTOR:
            break
    assert max(ratios) < FACTOR, ratios
    assert min(ratios) > 1 / FACTOR, ratios


def test_the_measured_rates_are_those_of_a_machine():
    with one_core():
        here = hardware.measured("cpu")
        double = hardware.measured("cpu", torch.float64)
    assert 1e9 < here.bandwidth < here.peak < 1e13
    assert double.peak < 0.8 * here.peak


def test_the_specified_rates_are_those_of_the_data():
    for accelerator in ACCELERATORS:
        assert hardware.rates(accelerator.name, "float16").bandwidth == accelerator.bandwidth
    assert hardware.rates("A100 80 GB SXM") == Rates(312e12, 2.039e12)
    assert round(ridge(*hardware.rates("T4", "float16"))) == 203


def test_what_cannot_be_timed_is_refused():
    for call in (
        hardware.measured,
        lambda device: hardware.stage_seconds(1, 8, 2, device=device),
    ):
        with pytest.raises(ValueError, match="device 'meta' cannot be timed; use one of cpu"):
            call("meta")
    with pytest.raises(ValueError, match="the T4 has no tensor cores for 'bfloat16'"):
        hardware.rates("T4")
    with pytest.raises(ValueError, match="'H300' is not in this list"):
        hardware.rates("H300")
    with pytest.raises(ValueError, match="n_key=0 is not a size"):
        hardware.stage_seconds(1, 8, 2, n_key=0, device="cpu")
