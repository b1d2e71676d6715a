"""Work of the stages against the closed forms, and against what a traced pass really holds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import MultiHeadAttention, roofline, trace
from mhsa_lib.configurations import ACCELERATORS, find
from mhsa_lib.roofline import Work, attainable, ridge, seconds, stages

SIZE = st.integers(1, 9)
LONG = 10**9


@given(SIZE, SIZE, SIZE, SIZE, st.integers(1, 8))
def test_the_work_is_what_a_traced_pass_computes_reads_and_writes(n, key, d, heads, width):
    """Without fusion every tensor that meets memory is a wire, a weight, x or the cache."""
    mha = MultiHeadAttention(d, heads, d_head=width).to("meta")
    x, context = torch.empty(n, d, device="meta"), torch.empty(key, d, device="meta")
    with trace(mha) as wires:
        mha(x, context)
    size = {name: 4 * wires[name].numel() for name in wires}
    weight = {name: 4 * p.numel() for name, p in mha.named_parameters()}
    found = stages(n, d, heads, n_key=key, d_head=width, itemsize=4, fused=False)
    attended = size["q"] + size["k"] + size["v"] + 2 * size["scores"] + 2 * size["weights"]
    assert found["scores + mix"].bytes == attended + size["z"]
    assert found["W_O"].bytes == weight.pop("W_O.weight") + size["concat"] + size["y"]
    new_k = size["k"] // key * n
    assert (
        found["project"].bytes == sum(weight.values()) + 4 * x.numel() + size["q"] + 2 * new_k
    )
    flops = {name: step.flops for name, step in wires.steps.items()}
    assert found["scores + mix"].flops == flops["scores"] + flops["z"]
    assert found["W_O"].flops == flops["y"]
    assert found["project"].flops == flops["q"] + 2 * flops["k"] // key * n


def test_decoding_does_as_many_flops_per_byte_as_heads_share_a_key():
    for n_kv_heads in (32, 8, 1):
        work = stages(1, 4096, 32, n_key=LONG, n_kv_heads=n_kv_heads)["scores + mix"]
        assert work.intensity == pytest.approx(32 / n_kv_heads, rel=1e-4)


def test_batching_helps_the_projections_only():
    one, many = (stages(1, 4096, 32, n_key=8192, batch=batch) for batch in (1, 256))
    assert many["scores + mix"].intensity == one["scores + mix"].intensity
    assert many["W_O"].intensity == pytest.approx(256 * 4096 / (4096 + 2 * 256))
    assert many["project"].intensity > 100 > 2 > one["project"].intensity


def test_prefill_fused_and_not():
    n = 2**20
    fused, written = (
        stages(n, 4096, 32, fused=fused)["scores + mix"] for fused in (True, False)
    )
    assert fused.intensity == n / 2
    assert written.intensity == pytest.approx(128 / 2, rel=1e-3)
    grouped = stages(n, 4096, 32, n_kv_heads=8)["scores + mix"]
    assert grouped.intensity == n * 32 / (32 + 8)


def test_a_smaller_cache_is_read_faster():
    half = stages(1, 4096, 32, n_key=LONG)["scores + mix"].intensity
    whole = stages(1, 4096, 32, n_key=LONG, cache_itemsize=1)["scores + mix"].intensity
    assert whole == pytest.approx(2 * half, rel=1e-4)


def test_ridges_of_the_accelerators():
    ridges = {a.name: ridge(a.peak["float16"], a.bandwidth) for a in ACCELERATORS}
    assert [round(value) for value in ridges.values()] == [206, 295, 378, 153, 201, 203]
    assert "bfloat16" not in ACCELERATORS[-1].peak


def test_the_roof_is_the_lower_of_two_lines_that_meet_at_the_ridge():
    peak, bandwidth = 989e12, 4.8e12
    meet = ridge(peak, bandwidth)
    assert attainable(meet, peak, bandwidth) == pytest.approx(peak)
    assert attainable(2 * meet, peak, bandwidth) == peak
    assert attainable(meet / 4, peak, bandwidth) == pytest.approx(peak / 4)


def test_the_least_time_of_one_token_of_llama():
    """16 GiB of keys and values through 4.8 TB/s, four times as many without sharing."""
    llama = find("Llama 3.1 8B")
    for model, expected in ((llama, 3.58), (llama.with_kv_heads(32), 14.3)):
        work = Work(flops=0, bytes=model.cache_bytes(131_072))
        assert 1000 * seconds(work, 989e12, 4.8e12) == pytest.approx(expected, abs=0.02)
    assert seconds(Work(flops=989 * 10**12, bytes=1), 989e12, 4.8e12) == 1


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="n_key=0 is not a size"):
        stages(1, 64, 8, n_key=0)
    with pytest.raises(ValueError, match="cache_itemsize=0 is not a size"):
        stages(1, 64, 8, cache_itemsize=0)
    with pytest.raises(ValueError, match="n_kv_heads=3 does not divide n_heads=8"):
        roofline.stages(1, 64, 8, n_kv_heads=3)
