"""The machine under test: what it is, how fast it can be at best, and its memory allocator.

The least time of a pass counts the matrix products at the rate of the fastest product and the
exponentials at the rate of the fastest exponential; of a decoded token, the bytes that have to
be read. Nothing reaches it; how close an implementation comes says how much is left.
"""

import datetime
import os
import platform
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F

from mhsa_book import costs
from mhsa_book.profiling.processor import cpuinfo, processor
from mhsa_book.results.cells import Cell

ALLOCATOR = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "268435456",
}
"""Settings of glibc that keep freed memory, so that page faults are not what is timed."""

PACKAGES = ("torch", "transformers", "torchtune", "torchao", "x-transformers", "litgpt")
FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16")
BUFFERS = (4, 64, 1024)
"""Sizes in MB at which the read bandwidth is measured: caches first, memory last."""


def restart_with(alloc: str, arguments: list[str]) -> None:
    """Start again under the ``pinned`` or the ``default`` allocator, if need be."""
    wanted = ALLOCATOR if alloc == "pinned" else dict.fromkeys(ALLOCATOR)
    if sys.platform != "linux" or all(os.environ.get(k) == v for k, v in wanted.items()):
        return
    changed = {k: v for k, v in os.environ.items() if k not in ALLOCATOR}
    changed |= {k: v for k, v in wanted.items() if v is not None}
    os.execve(sys.executable, [sys.executable, "-m", "mhsa_book.bench", *arguments], changed)


def today() -> str:
    """The date of a run, as in 2026-01-31."""
    return datetime.date.today().isoformat()


def description() -> dict[str, Any]:
    """Processor, threads, allocator and versions; nothing that names the machine or a path."""
    pinned = all(os.environ.get(name) == value for name, value in ALLOCATOR.items())
    config = [line.strip(" -") for line in torch.__config__.show().splitlines()]
    return {
        "cpu": processor(),
        "flags": [flag for flag in FLAGS if flag in cpuinfo("flags").split()],
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gb": _memory_gb(),
        "allocator": "pinned" if pinned else "default",
        "system": platform.system(),
        "python": platform.python_version(),
        "torch_config": [
            line for line in config if line.startswith(("Intel", "CPU cap", "OpenMP"))
        ],
        "float32_matmul": torch.get_float32_matmul_precision(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def rates() -> dict[str, float]:
    """Best rates of this machine: GFLOP/s of products, G exponentials/s, GB/s of reading.

    A product runs at the rate of the faster of the two libraries that torch carries.
    """
    found = {}
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        sizes = ((1024, 512, 1536), (4096, 512, 1536), (2048, 2048, 2048))
        found[f"gemm_{name}"] = max(_gemm(*size, dtype) for size in sizes) / 1e9
    numbers = torch.zeros(2**18)
    found["exp"] = numbers.numel() / _least(lambda: torch.exp(numbers, out=numbers)) / 1e9
    for mb in BUFFERS:
        buffer = torch.ones(mb * 10**6 // 4)
        found[f"read_{mb}_mb"] = mb / 1000 / _least(buffer.sum, seconds=0.2)
    return found


def least_seconds(cell: Cell, rate: dict[str, float]) -> float:
    """The least time this machine could need for one pass of a cell."""
    if cell.mode == "decode":
        sizes, d_head = (cell.d_model, cell.n_heads), cell.d_model // cell.n_heads
        weights = sum(costs.parameters(*sizes, n_kv_heads=cell.kv_heads).values())
        n, options = cell.n_tokens + 1, {"batch": cell.batch, "itemsize": 4}
        cached = costs.cache_bytes(n, cell.kv_heads, d_head, **options)
        read = cell.n_layers * (4 * weights + cached)
        fits = [mb for mb in BUFFERS if mb * 1e6 <= read] or BUFFERS[:1]
        return read / (rate[f"read_{fits[-1]}_mb"] * 1e9)
    tokens = sum(cell.lengths)
    flops = costs.flops(tokens, cell.d_model, cell.n_heads, n_kv_heads=cell.kv_heads)
    projections = float(sum(flops[wire] for wire in ("q", "k", "v", "y")))
    attention, exponentials = 4.0 * cell.pairs * cell.d_model, cell.pairs * cell.n_heads
    if cell.mode == "training":
        projections, attention = 3 * projections, 3.5 * attention
    peak = rate[f"gemm_{cell.precision}"] * 1e9
    return (projections + attention) / peak + exponentials / (rate["exp"] * 1e9)


def _gemm(rows: int, inner: int, columns: int, dtype: torch.dtype) -> float:
    x, weight = torch.ones(rows, inner, dtype=dtype), torch.ones(columns, inner, dtype=dtype)
    seconds = _least(partial(F.linear, x, weight))
    return 2 * rows * inner * columns / seconds


def _least(run: Callable[[], Any], seconds: float = 0.15) -> float:
    """The least time of one call, of as many as fit and at least three."""
    with torch.inference_mode():
        run()
        least, end, count = float("inf"), perf_counter() + seconds, 0
        while count < 3 or perf_counter() < end:
            start = perf_counter()
            run()
            least, count = min(least, perf_counter() - start), count + 1
    return least


def _memory_gb() -> float | None:
    if sys.platform != "linux":
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
