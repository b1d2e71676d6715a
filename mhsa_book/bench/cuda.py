"""The same on a GPU, and what only a GPU has: backends, FlexAttention, CUDA graphs.

TFLOP/s are set beside the best product of matrices in the same run.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from mhsa_book.bench import judge, machine, reasons, suites
from mhsa_book.bench.cuda_core import FLUSH, CudaClock, cores, rates, seconds
from mhsa_book.bench.problem import Loaded, Problem
from mhsa_book.bench.registry import PASSES
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import Report
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.fused.attention import FusedMultiHeadAttention

SMALL = Cell(1, 16, 512, 8), Cell(8, 128, 512, 8)


def measure(
    suite: str,
    effort: judge.Effort,
    *,
    quick: bool = False,
    progress: suites.Progress = iter,
    say: Callable[[str], None] = print,
    todo: list[Cell] | None = None,
) -> Report:
    """Run a suite on the GPU: the cells of the CPU, then the core by backend, and graphs."""
    clock = CudaClock()
    with torch.device("cuda"):
        found = rates(clock)
        races = []
        for cell in progress(suites.chosen(suite, quick) if todo is None else todo):
            races.append(judge.run(cell, found, effort, clock))
            say(f"{cell!r}: {races[-1].verdict} of {races[-1].best_peer}")
        peaks = memory(quick) if suite in ("memory", "all") else {}
        gpu = {
            "name": torch.cuda.get_device_name(),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "core": list(cores(clock, found["gemm_bfloat16"], quick)),
            "graphs": [graph(cell, clock) for cell in SMALL],
            "layer": layer(clock, found["gemm_bfloat16"]),
            "peak_mb": peaks,
        }
    method = suites.method(effort) | {"l2_flush_bytes": FLUSH}
    return Report(
        machine.today(), "cuda", machine.description(), found, method, tuple(races), gpu=gpu
    )


def graph(cell: Cell, clock: CudaClock) -> dict[str, Any]:
    """Seconds of our module by itself and replayed from a CUDA graph, where launching costs."""
    attention = MultiHeadAttention(cell.d_model, cell.n_heads, bias=True)
    module = FusedMultiHeadAttention.from_attention(attention).eval()
    x, mask = torch.randn(cell.batch, cell.n_tokens, cell.d_model), cell.predicate
    with torch.inference_mode():
        eager = seconds(clock, lambda: module(x, mask=mask))
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                wanted = module(x, mask=mask)
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            y = module(x, mask=mask)
        captured.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(y, wanted)
        replayed = seconds(clock, captured.replay)
    return {"cell": repr(cell), "eager_us": 1e6 * eager, "graph_us": 1e6 * replayed}


def layer(clock: CudaClock, gemm: float) -> dict[str, float]:
    """Our layer in bfloat16, d_model 2048 and 8192 tokens, against what two rates allow."""
    attention = MultiHeadAttention(2048, 16).to(torch.bfloat16)
    module = FusedMultiHeadAttention.from_attention(attention).eval()
    x = torch.randn(2, 4096, 2048, dtype=torch.bfloat16)
    q, k, v = (torch.randn(2, 16, 4096, 128, dtype=torch.bfloat16) for _ in range(3))
    with torch.inference_mode():
        core = seconds(clock, lambda: F.scaled_dot_product_attention(q, k, v))
        took = seconds(clock, lambda: module(x))
    allowed = 8 * 8192 * 2048**2 / (gemm * 1e9) + core
    return {"ms": 1000 * took, "allowed_ms": 1000 * allowed, "share": allowed / took}


def memory(quick: bool) -> dict[str, dict[str, float | str]]:
    """Extra MB of one forward pass at its highest, by implementation and length, or why not."""
    lengths = (512, 2048) if quick else (512, 2048, 8192)
    return {
        name: {str(n): _peak(build, Cell(1, n, 512, 8)) for n in lengths}
        for name, build in PASSES.items()
    }


def _peak(build: Callable[[Problem], Loaded], cell: Cell) -> float | str:
    try:
        given = Problem(cell)
        loaded = build(given)
        loaded.module.eval()
        with torch.inference_mode():
            loaded.call(given.x)
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            loaded.call(given.x)
    except Exception as error:  # other people's code may fail in any way
        return f"not run here: {reasons.why(error)}"
    return round((torch.cuda.max_memory_allocated() - before) / 1e6, 1)
