"""Attention in one file on a GPU: its numbers, and that the causal kernel is reached there."""

import pytest
import torch

from mhsa_book import one_file

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: not run here"),
    pytest.mark.nohook,
]
KINDS = {
    "plain": {},
    "grouped": {"n_kv_heads": 2},
    "rotary": {"rope_base": 10_000.0, "n_kv_heads": 2},
}


def built(**options):
    torch.manual_seed(0)
    return one_file.MultiHeadAttention(256, 8, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_those_of_a_cpu(kind):
    attention, x = built(**KINDS[kind]), torch.randn(2, 50, 256)
    with torch.no_grad():
        here = attention(x, causal=True)
        there = attention.to("cuda")(x.to("cuda"), causal=True).cpu()
    torch.testing.assert_close(there, here, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cached_text_is_the_text_in_one_pass(kind):
    attention = built(**KINDS[kind]).to("cuda")
    x, cache = torch.randn(2, 50, 256, device="cuda"), one_file.Cache(50)
    with torch.no_grad():
        parts = [attention(x[:, :40], causal=True, cache=cache)]
        parts += [attention(x[:, i : i + 1], causal=True, cache=cache) for i in range(40, 50)]
        whole = attention(x, causal=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_no_tensor_of_queries_by_keys_is_written(kind):
    n = 16_384
    attention = built(**KINDS[kind]).to("cuda", torch.bfloat16)
    x = torch.randn(1, n, 256, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        attention(x, causal=True)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        attention(x, causal=True)
    needed = torch.cuda.max_memory_allocated() - before
    print(f"{needed / 2**20:.0f} MiB, a boolean mask has {n * n / 2**20:.0f}")
    assert needed < n * n / 2
