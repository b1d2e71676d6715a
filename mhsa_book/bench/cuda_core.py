"""The clock of a GPU, its best rates, and the attention core by backend.

Times come from CUDA events around single calls, the L2 cache flushed before each.
"""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.bench import machine, reasons
from mhsa_book.bench.clock import Clock, Entrant

FLUSH = 256 * 2**20
"""Bytes written before a call: more than any L2 cache holds."""

BACKENDS = ("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
TOLERANCE = 4e-2


@dataclass
class CudaClock(Clock):
    """Seconds on the GPU by events; the host's other programs do not matter to it."""

    busy: Callable[[], tuple[float, float] | None] = lambda: None
    flush: Tensor = field(
        default_factory=lambda: torch.empty(FLUSH, dtype=torch.uint8, device="cuda")
    )

    def block(self, entrant: Entrant, n: int) -> float:
        """Seconds per call over ``n`` calls, the cache flushed before each."""
        if entrant.reset is not None:
            entrant.reset()
        pairs = []
        for _ in range(n):
            self.flush.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            entrant.call()
            end.record()
            pairs.append((start, end))
        torch.cuda.synchronize()
        return sum(start.elapsed_time(end) for start, end in pairs) / 1000 / n


def rates(clock: CudaClock) -> dict[str, float]:
    """Best rates of this GPU, under the names that the CPU's have."""
    found = {}
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        x = torch.ones(8192, 8192, dtype=dtype)
        found[f"gemm_{name}"] = 2 * 8192**3 / seconds(clock, partial(torch.matmul, x, x)) / 1e9
    numbers = torch.zeros(2**26)
    found["exp"] = 2**26 / seconds(clock, numbers.exp) / 1e9
    for mb in machine.BUFFERS:
        buffer = torch.ones(mb * 10**6 // 4)
        found[f"read_{mb}_mb"] = mb / 1000 / seconds(clock, buffer.sum)
    return found


def cores(clock: CudaClock, gemm: float, quick: bool) -> Iterable[dict[str, Any]]:
    """The attention core by backend: TFLOP/s, share of the product's rate, and the choice."""
    for d_head in (128,) if quick else (64, 128):
        for n in (4096,) if quick else (2048, 4096, 8192):
            for causal in (False, True):
                shape = 4, 2048 // d_head, n, d_head
                q, k, v = (torch.randn(shape, dtype=torch.bfloat16) for _ in range(3))
                one, two, three = (t[:1, :1].double() for t in (q, k, v))
                exact = F.scaled_dot_product_attention(one, two, three, is_causal=causal)
                flops = 4 * shape[0] * shape[1] * n * n * d_head / (2 if causal else 1)
                chosen = _chosen(q, k, v, causal)
                for name, call in _ways(q, k, v, causal).items():
                    row = {"backend": name, "d_head": d_head, "n_tokens": n, "causal": causal}
                    row |= {"chosen": chosen}
                    try:
                        gap = (call()[:1, :1].double() - exact).abs().max().item()
                        rate = flops / seconds(clock, call) / 1e9
                    except RuntimeError as error:
                        yield row | {"reason": reasons.why(error)}
                        continue
                    if gap > TOLERANCE:
                        yield row | {"reason": f"wrong: output off by {gap:.2g}"}
                        continue
                    yield row | {"tflops": rate / 1000, "of_gemm": rate / gemm, "error": gap}


def _ways(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> dict[str, Callable[[], Tensor]]:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def plain() -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def by(backend: Any) -> Callable[[], Tensor]:
        def call() -> Tensor:
            with sdpa_kernel(backend):
                return plain()

        return call

    def earlier(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return query >= key

    n, compiled = q.shape[-2], torch.compile(flex_attention)
    block = create_block_mask(earlier, None, None, n, n, device="cuda") if causal else None
    return {
        "SDPA, as it chooses": plain,
        **{name: by(getattr(SDPBackend, name)) for name in BACKENDS},
        "FlexAttention": lambda: compiled(q, k, v, block_mask=block),
    }


def _chosen(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> str:
    """The backend that SDPA chooses here, by name; asserted to be a fused one."""
    from torch.nn.attention import SDPBackend

    name = SDPBackend(torch._fused_sdp_choice(q, k, v, is_causal=causal)).name
    if name in ("MATH", "ERROR"):
        raise RuntimeError(f"SDPA chose {name} for {tuple(q.shape)} in {q.dtype}.")
    return name


def seconds(clock: CudaClock, call: Callable[[], Any]) -> float:
    """Median seconds of one call."""
    entrant = Entrant(call)
    clock.block(entrant, 3)
    return statistics.median(clock.block(entrant, 1) for _ in range(20))
