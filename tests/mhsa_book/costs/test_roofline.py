"""Work of the stages against the closed forms, and against what a traced pass really holds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_book import costs
from mhsa_book.costs import roofline
from mhsa_book.costs.configurations import ACCELERATORS, find
from mhsa_book.costs.roofline import (
    Work,
    compute_bound_from,
    regime,
    ridge,
    seconds,
    stages,
    steps,
)
from mhsa_lib import (
    FusedMultiHeadAttention,
    GroupedQueryAttention,
    MultiHeadAttention,
    trace,
    trace_ops,
)

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


@given(SIZE, SIZE, SIZE, SIZE, st.integers(1, 8))
def test_every_step_reads_and_writes_the_wires_around_it(n, key, d, heads, width):
    mha = MultiHeadAttention(d, heads, d_head=width).to("meta")
    x, context = torch.empty(n, d, device="meta"), torch.empty(key, d, device="meta")
    with trace(mha) as wires:
        mha(x, context)
    size = {name: 4 * wires[name].numel() for name in wires}
    found = steps(n, d, heads, n_key=key, d_head=width, itemsize=4)
    assert found["scores"].bytes == size["q"] + size["k"] + size["scores"]
    assert found["softmax"] == Work(0, size["scores"] + size["weights"])
    assert found["mix"].bytes == size["weights"] + size["v"] + size["z"]
    assert found["concat"] == Work(0, size["z"] + size["concat"])
    flops = {name: step.flops for name, step in wires.steps.items()}
    assert (found["scores"].flops, found["mix"].flops) == (flops["scores"], flops["z"])


@given(SIZE, st.integers(1, 4), st.integers(1, 3), st.integers(1, 8), st.integers(1, 3))
def test_torch_counts_the_same_flops_in_the_five_stages_and_in_the_fused_module(
    n, n_kv, group, width, batch
):
    """The trace sees every product that ran, whatever module it came from."""
    sizes = {"n_kv_heads": n_kv, "d_head": width}
    five = GroupedQueryAttention(8, n_kv * group, n_kv, d_head=width)
    fused, x = FusedMultiHeadAttention.from_attention(five), torch.randn(batch, n, 8)
    expected = sum(costs.flops(n, 8, n_kv * group, batch=batch, **sizes).values())
    for count in (steps, stages):
        work = count(n, 8, n_kv * group, batch=batch, **sizes)
        assert sum(part.flops for part in work.values()) == expected
    assert trace_ops(five, x).flops == trace_ops(fused, x).flops == expected


@given(st.integers(2, 9), st.integers(2, 9), st.integers(2, 9), st.integers(2, 8))
def test_torch_writes_what_the_steps_write_and_a_scaled_copy_of_q(n, d, heads, width):
    mha = MultiHeadAttention(d, heads, d_head=width)
    written = costs.bytes_of(n, d, heads, d_head=width)
    ops = trace_ops(mha, torch.randn(n, d))
    copied = sum(op.bytes for op in ops if op.result == "new memory")
    assert copied == sum(written.values()) + written["q"]


def test_fusing_saves_four_tables_and_nothing_else():
    sizes = {"n_key": 50, "n_kv_heads": 2, "batch": 3, "itemsize": 4}
    each, whole = steps(7, 64, 8, **sizes), stages(7, 64, 8, **sizes, fused=False)
    fused = stages(7, 64, 8, **sizes)
    table = 3 * 8 * 7 * 50 * 4
    assert whole["scores + mix"] == each["scores"] + each["softmax"] + each["mix"]
    assert fused["scores + mix"] + Work(0, 4 * table) == whole["scores + mix"]
    assert fused["project"] == whole["project"] == each["project"]


def test_the_regime_changes_at_the_ridge():
    below, at = Work(flops=39, bytes=2), Work(flops=40, bytes=2)
    assert regime(below, peak=60.0, bandwidth=3.0) == "memory-bound"
    assert regime(at, peak=60.0, bandwidth=3.0) == "compute-bound"


@pytest.mark.parametrize(("name", "batch"), [("H100 SXM", 345), ("A100 80 GB SXM", 166)])
def test_the_batch_from_which_a_projection_is_compute_bound(name, batch):
    """Bd/(d + 2B) passes the ridge, with the width d of a square projection."""
    chip = find(name, ACCELERATORS)
    limits = chip.peak["bfloat16"], chip.bandwidth

    def projecting(batch):
        return stages(1, 4096, 32, n_key=8192, batch=batch)["W_O"]

    assert compute_bound_from(projecting, *limits) == batch
    assert regime(projecting(batch), *limits) == "compute-bound"
    assert regime(projecting(batch - 1), *limits) == "memory-bound"
    assert compute_bound_from(projecting, *limits, up_to=batch) == batch
    assert compute_bound_from(projecting, *limits, up_to=batch - 1) is None


def test_no_batch_makes_a_cache_compute_bound_but_a_length_does_and_so_do_shared_keys():
    limits = 989e12, 4.8e12

    def prefill(n):
        return stages(n, 4096, 32)["scores + mix"]

    def decode(batch):
        return stages(1, 4096, 32, n_key=8192, batch=batch)["scores + mix"]

    def sharing(heads):
        return stages(1, 128 * heads, heads, n_kv_heads=1, n_key=2**20)["scores + mix"]

    assert compute_bound_from(decode, *limits) is None
    assert compute_bound_from(prefill, *limits) == 413  # n / 2 = 206.04
    assert compute_bound_from(sharing, *limits) == 207
    assert compute_bound_from(prefill, 1.0, 1e9) == 1


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
    with pytest.raises(ValueError, match="up_to=0 is not a size"):
        compute_bound_from(lambda n: Work(n, 1), 1.0, 1.0, up_to=0)
    with pytest.raises(ValueError, match="cache_itemsize=0 is not a size"):
        stages(1, 64, 8, cache_itemsize=0)
    with pytest.raises(ValueError, match="n_kv_heads=3 does not divide n_heads=8"):
        roofline.stages(1, 64, 8, n_kv_heads=3)
