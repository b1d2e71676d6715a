"""What limits a stage: arithmetic, or the way to memory.

A stage computes so many FLOPs and has to move so many bytes; their ratio is its arithmetic
intensity. A machine whose memory delivers ``bandwidth`` bytes a second can feed at most
intensity · bandwidth FLOPs a second, and does not compute more than ``peak``. The two limits
meet at the ridge, peak / bandwidth. Bytes are the least possible: every tensor is read or
written once.

Source: Williams, Waterman and Patterson 2009.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mhsa_book import costs
from mhsa_lib import checks


class Rates(NamedTuple):
    """The two limits of a machine: FLOPs a second, and bytes a second to and from memory.

    >>> ridge(*Rates(peak=200e9, bandwidth=40e9))
    5.0
    """

    peak: float
    bandwidth: float


@dataclass(frozen=True)
class Work:
    """FLOPs that a stage computes and bytes that it moves to and from memory.

    >>> Work(flops=8, bytes=2) + Work(flops=0, bytes=2)
    Work(flops=8, bytes=4)
    """

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes

    def __add__(self, other: "Work") -> "Work":
        return Work(self.flops + other.flops, self.bytes + other.bytes)


def steps(
    n_query: int,
    d_model: int,
    n_heads: int,
    *,
    n_key: int | None = None,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
    batch: int = 1,
    itemsize: int = 2,
    cache_itemsize: int | None = None,
) -> dict[str, Work]:
    """Work of each step of one layer when every result is written to memory.

    ``n_query`` new tokens look at ``n_key``, their own included. Prefill has as many keys as
    queries; decoding has one query, and the other keys come from the cache, whose numbers may
    be smaller (``cache_itemsize``). Nothing is masked, biases are left out. Softmax counts no
    FLOP, but reads a (query × key) table for every head and writes one.

    >>> for name, work in steps(128, 64, 8).items():
    ...     print(f"{name:8}{work.flops:10,}{work.bytes:9,}")
    project  3,145,728   90,112
    scores   2,097,152  294,912
    softmax          0  524,288
    mix      2,097,152  294,912
    concat           0   32,768
    W_O      1,048,576   40,960
    """
    n_key = n_query if n_key is None else n_key
    cache_itemsize = itemsize if cache_itemsize is None else cache_itemsize
    checks.positive(n_query=n_query, n_key=n_key, batch=batch)
    checks.positive(itemsize=itemsize, cache_itemsize=cache_itemsize)
    d_heads, d_kv_heads = costs.widths(d_model, n_heads, n_kv_heads, d_head)
    tokens = batch * n_query
    q, x = tokens * d_heads * itemsize, tokens * d_model * itemsize
    new_kv = 2 * tokens * d_kv_heads * cache_itemsize
    all_k = batch * n_key * d_kv_heads * cache_itemsize
    table = batch * n_heads * n_query * n_key * itemsize
    product = 2 * tokens * n_key * d_heads
    W_QKV = d_model * (d_heads + 2 * d_kv_heads)
    W_O = d_heads * d_model
    return {
        "project": Work(2 * tokens * W_QKV, W_QKV * itemsize + x + q + new_kv),
        "scores": Work(product, q + all_k + table),
        "softmax": Work(0, 2 * table),
        "mix": Work(product, table + all_k + q),
        "concat": Work(0, 2 * q),
        "W_O": Work(2 * tokens * W_O, W_O * itemsize + q + x),
    }


def stages(
    n_query: int, d_model: int, n_heads: int, *, fused: bool = True, **sizes: int | None
) -> dict[str, Work]:
    """Work of the three parts of one layer that multiply matrices; ``sizes`` as in ``steps``.

    ``fused`` scores are never written; otherwise scores and weights are both written and read.

    >>> decoding = stages(1, 4096, 32, n_key=131_072)
    >>> [round(work.intensity, 1) for work in decoding.values()]
    [1.0, 1.0, 1.0]
    >>> round(stages(1, 4096, 32, n_key=131_072, n_kv_heads=8)["scores + mix"].intensity)
    4
    """
    step = steps(n_query, d_model, n_heads, **sizes)  # type: ignore[arg-type]
    attend = step["scores"] + step["softmax"] + step["mix"]
    if fused:
        attend = Work(attend.flops, attend.bytes - 2 * step["softmax"].bytes)
    return {"project": step["project"], "scores + mix": attend, "W_O": step["W_O"]}


def ridge(peak: float, bandwidth: float) -> float:
    """FLOPs per byte from which on arithmetic is the limit.

    >>> round(ridge(989e12, 4.8e12))
    206
    """
    return peak / bandwidth


def regime(work: Work, peak: float, bandwidth: float) -> str:
    """What the work waits for: "compute-bound" from the ridge on, "memory-bound" below.

    >>> prompt, token = stages(2048, 4096, 32), stages(1, 4096, 32, n_key=2048)
    >>> [regime(some["W_O"], 989e12, 4.8e12) for some in (prompt, token)]
    ['compute-bound', 'memory-bound']
    """
    return "memory-bound" if work.intensity < ridge(peak, bandwidth) else "compute-bound"


def compute_bound_from(
    work: Callable[[int], Work], peak: float, bandwidth: float, up_to: int = 2**20
) -> int | None:
    """The smallest size from which on ``work(size)`` is compute-bound; None if none ``up_to``.

    The size may be a batch, a length, or the heads that share a key: whatever more of does not
    lower the intensity.

    >>> def step(stage):
    ...     return lambda batch: stages(1, 4096, 32, n_key=8192, batch=batch)[stage]
    >>> print(compute_bound_from(step("W_O"), 989e12, 4.8e12))
    230
    >>> print(compute_bound_from(step("scores + mix"), 989e12, 4.8e12))
    None
    """
    checks.positive(up_to=up_to)
    sizes, needed = range(1, up_to + 1), ridge(peak, bandwidth)
    found = bisect_left(sizes, needed, key=lambda size: work(size).intensity)
    return sizes[found] if found < up_to else None


def seconds(work: Work, peak: float, bandwidth: float) -> float:
    """The least time for that work; real kernels need more.

    >>> f"{1000 * seconds(Work(flops=0, bytes=2**34), 989e12, 4.8e12):.2f} ms"
    '3.58 ms'
    """
    return max(work.flops / peak, work.bytes / bandwidth)
