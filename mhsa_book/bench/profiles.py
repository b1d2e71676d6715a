"""Where the time of a call goes, by kinds of operations, as torch's profiler counts them.

The profiler takes about a microsecond for every operation itself. Short calls feel it, and it
counts among the ``calls``: what lies between the numbers, views, checks and Python.
"""

from time import perf_counter

import torch

from mhsa_book.bench.clock import Entrant
from mhsa_book.profiling import peak_memory

KINDS = ("products", "softmax", "fused kernel", "copies and sums", "calls")
SECONDS, CALLS = 0.3, 200
"""How long an implementation is watched at most: every operation is an event to keep."""

_NUMBERS = (
    "add", "cat", "clone", "copy", "div", "fill", "index", "masked", "mul", "neg", "pad", "sub",
    "sum", "where", "zero",
)  # fmt: skip


def kind(operation: str) -> str:
    """The kind of an operation, by its name.

    >>> [kind(name) for name in ("aten::addmm", "aten::_softmax", "aten::mul_", "aten::view")]
    ['products', 'softmax', 'copies and sums', 'calls']
    """
    name = operation.split("::")[-1].lstrip("_")
    if "scaled_dot_product" in name:
        return "fused kernel"
    if "softmax" in name:
        return "softmax"
    if "mm" in name or "linear" in name:
        return "products"
    return "copies and sums" if name.startswith(_NUMBERS) else "calls"


def milliseconds(entrant: Entrant) -> dict[str, float]:
    """Milliseconds of one call by kind; what no operation accounts for are ``calls``."""
    if entrant.reset is not None:
        entrant.reset()
    entrant.call()
    start = perf_counter()
    entrant.call()
    n = int(max(1, min(CALLS, entrant.most - 2, SECONDS / (perf_counter() - start))))
    with peak_memory.quiet(), torch.profiler.profile(activities=peak_memory.CPU) as seen:
        start = perf_counter()
        for _ in range(n):
            entrant.call()
        wall = perf_counter() - start
    found = dict.fromkeys(KINDS, 0.0)
    for event in seen.key_averages():
        found[kind(event.key)] += event.self_cpu_time_total / 1000 / n
    found["calls"] = max(0.0, 1000 * wall / n - sum(found.values()) + found["calls"])
    return found
