"""The fused module on a GPU: its numbers against the definition on a CPU, and what it writes.

Not run where there is no GPU. `make gpu` runs it on a machine with one.
"""

import copy
import statistics

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from mhsa_lib import (
    FusedMultiHeadAttention,
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    masks,
)
from mhsa_lib.fused import kernels
from mhsa_lib.llama_stages import CappedAttend, SinkAttend

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: not run here"),
    pytest.mark.nohook,
    # What torch says to itself while it compiles: of a tensor without .grad, and of TF32.
    pytest.mark.filterwarnings("ignore:The .grad attribute", "ignore:TensorFloat32"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning"),
]
N = 300  # more than FlexAttention's block of 128, and not a multiple of it
MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(40),
    "prefix": masks.prefix(30),
    "padding": masks.padding([N, 170]),
    "causal & key padding": masks.causal & masks.key_padding([N, 170]),
    "documents": masks.causal & masks.documents([[0] * 100 + [1] * 200] * 2),
}
STEPS = {
    "capped": lambda scale: CappedAttend(scale, cap=0.5),
    "with sinks": lambda scale: SinkAttend(scale, n_heads=8),
}
KINDS = pytest.mark.parametrize("kind", ["plain", "grouped", *STEPS])
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def layer(kind: str) -> MultiHeadAttention:
    torch.manual_seed(1)
    if kind in STEPS:
        return GroupedQueryAttention(256, 8, n_kv_heads=2, attend=STEPS[kind](0.2))
    if kind == "grouped":
        return GroupedQueryAttention(256, 8, n_kv_heads=2)
    return MultiHeadAttention(256, 4, bias=True)


def passed(module: torch.nn.Module, x: Tensor, direction: Tensor, mask) -> list[Tensor]:
    """The output and the gradient of x, in float64 on the CPU."""
    weight = next(module.parameters())
    x = x.to(weight).detach().requires_grad_()
    y = module(x, mask=mask)
    (y * direction.to(y)).sum().backward()
    return [y.detach().double().cpu(), x.grad.double().cpu()]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mask", MASKS)
@KINDS
def test_it_is_as_near_to_the_definition_as_five_stages_of_its_precision(kind, mask, dtype):
    staged = layer(kind).to("cuda", dtype)
    fused = FusedMultiHeadAttention.from_attention(staged).to("cuda", dtype)
    exact = copy.deepcopy(staged).cpu().double()
    x, direction = torch.randn(2, 2, N, 256).to(dtype)
    wanted = passed(exact, x, direction, MASKS[mask])
    found = passed(fused, x, direction, MASKS[mask])
    usual = passed(staged, x, direction, MASKS[mask])
    for one, other, right in zip(found, usual, wanted, strict=True):
        assert (one - right).abs().max() <= 3 * (other - right).abs().max()


@KINDS
def test_a_text_written_with_a_cache_is_the_text_in_one_pass(kind):
    fused = FusedMultiHeadAttention.from_attention(layer(kind)).to("cuda")
    x = torch.randn(2, 40, 256, device="cuda")
    cache = KVCache()
    with torch.no_grad():
        parts = [fused(x[:, :30], mask=masks.causal, cache=cache)]
        parts += [fused(x[:, [i]], mask=masks.causal, cache=cache) for i in range(30, 40)]
    with torch.no_grad():
        whole = fused(x, mask=masks.causal)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=2e-5, rtol=1e-4)


def milliseconds(call) -> float:
    """The median of twenty calls."""
    times = []
    for _ in range(25):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[5:])


def replayed(call) -> float:
    """The median of a CUDA graph's replays: the GPU's time, without the host's."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return milliseconds(graph.replay)


def peak(call) -> int:
    """Bytes that a call needs at its highest, beyond what is there."""
    call()  # what is compiled or kept once does not count
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return torch.cuda.max_memory_allocated() - before


@pytest.mark.parametrize("kind", ["plain", "grouped"])
@pytest.mark.parametrize(
    "mask", [None, masks.causal, masks.sliding_window(128), masks.prefix(100)], ids=repr
)
def test_no_tensor_of_queries_by_keys_is_written(kind, mask):
    n = 16_384
    fused = FusedMultiHeadAttention.from_attention(layer(kind)).to("cuda", torch.bfloat16)
    x = torch.randn(1, n, 256, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        needed = peak(lambda: fused(x, mask=mask))
    pairs = n * n  # one byte for each would be a boolean mask
    print(f"{mask!r}: {needed / 2**20:.0f} MiB, a boolean mask has {pairs / 2**20:.0f}")
    assert needed < pairs / 2


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("mask", [None, masks.causal], ids=repr)
@pytest.mark.parametrize("learns", [False, True], ids=["forward", "training"])
def test_with_a_cap_or_sinks_memory_grows_with_the_text_and_not_its_square(kind, mask, learns):
    fused = FusedMultiHeadAttention.from_attention(layer(kind)).to("cuda", torch.bfloat16)
    needed = {}
    for n in (8192, 16_384):
        x = torch.randn(1, n, 256, device="cuda", dtype=torch.bfloat16)
        with torch.set_grad_enabled(learns):
            needed[n] = peak(
                lambda x=x: (
                    fused(x, mask=mask).sum().backward() if learns else fused(x, mask=mask)
                )
            )
    print({n: f"{size / 2**20:.0f} MiB" for n, size in needed.items()})
    assert needed[16_384] <= 2.2 * needed[8192]
    assert needed[16_384] <= 8 * 16_384**2 * 2 / 4  # bytes of all weights: 8 heads, 2 bytes


def test_padding_skips_what_it_hides_without_a_tensor_of_pairs():
    n, lengths = 8192, [8192, 4000, 1000, 17]
    fused = FusedMultiHeadAttention.from_attention(layer("plain")).to("cuda", torch.bfloat16)
    x = torch.randn(4, n, 256, device="cuda", dtype=torch.bfloat16)
    mask = masks.causal & masks.padding(lengths)
    with torch.no_grad():
        needed = peak(lambda: fused(x, mask=mask))
    q = torch.empty(4, 4, n, 64, device="cuda", dtype=torch.bfloat16)
    print(kernels.explain(q, q, q, mask))
    print(f"{needed / 2**20:.0f} MiB, a boolean mask has {4 * n * n / 2**20:.0f}")
    assert needed < 4 * n * n / 2


def test_grouped_heads_are_not_repeated_where_flash_takes_them():
    """Finding 29: ``enable_gqa`` reaches a kernel that reads few KV heads, not *math*."""
    q = torch.randn(1, 8, 16_384, 64, device="cuda", dtype=torch.bfloat16)
    k = torch.randn(1, 2, 16_384, 64, device="cuda", dtype=torch.bfloat16)
    needed = peak(lambda: kernels.attend(q, k, k, masks.causal, scale=0.125))
    assert needed < 4 * q.nbytes


@pytest.mark.parametrize(
    ("dtype", "n_key"),
    [(torch.float32, 512), (torch.bfloat16, 512), (torch.bfloat16, 32_768)],
    ids=str,
)
@pytest.mark.parametrize("n_kv_heads", [2, 8])
def test_one_query_takes_no_longer_than_the_ways_that_it_does_not_take(
    n_kv_heads, dtype, n_key
):
    """As rows of one kernel a step behind 32,768 keys took ten times as long (H100).

    Float32 behind 32,768 keys is not among them: with two KV heads of eight, repeated heads are
    three times as fast there as our products (0.25 and 0.76 ms, H200), for their memory.
    """
    q = torch.randn(1, 8, 1, 64, device="cuda", dtype=dtype)
    k, v = torch.randn(2, 1, n_kv_heads, n_key, 64, device="cuda", dtype=dtype)
    rows = q.unflatten(1, (n_kv_heads, -1)).squeeze(3)
    ways = {
        "ours": lambda: kernels.attend(q, k, v, None, scale=0.125),
        "rows": lambda: scaled_dot_product_attention(rows, k, v).reshape(q.shape),
        "enable_gqa": lambda: scaled_dot_product_attention(q, k, v, enable_gqa=True),
        "products": lambda: (torch.softmax(0.125 * rows @ k.mT, dim=-1) @ v).reshape(q.shape),
    }
    exact = (torch.softmax(0.125 * rows.double() @ k.mT.double(), -1) @ v.double()).reshape(
        q.shape
    )
    with torch.no_grad():
        off = {name: (way() - exact).abs().max().item() for name, way in ways.items()}
        took = {name: replayed(way) for name, way in ways.items()}
    print(took)
    assert off["ours"] <= 3 * max(off["rows"], off["products"])
    assert took["ours"] <= 1.25 * min(took.values()) + 0.003


@pytest.mark.parametrize("mask", [masks.causal, masks.prefix(30), masks.sliding_window(40)])
def test_a_compiled_module_gives_the_same_numbers(mask):
    fused = FusedMultiHeadAttention.from_attention(layer("plain")).to("cuda").eval()
    compiled = torch.compile(copy.deepcopy(fused))
    with torch.no_grad():
        for n in (N, 200):
            x = torch.randn(2, n, 256, device="cuda")
            torch.testing.assert_close(
                compiled(x, mask=mask), fused(x, mask=mask), atol=2e-5, rtol=1e-4
            )
