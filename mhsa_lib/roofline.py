"""What limits a stage: arithmetic, or the way to memory.

A stage computes so many FLOPs and has to move so many bytes; their ratio is its arithmetic
intensity. An accelerator whose memory delivers ``bandwidth`` bytes a second can feed at most
intensity · bandwidth FLOPs a second, and does not compute more than ``peak``. The two limits
meet at the ridge, peak / bandwidth. Bytes are the least possible: every tensor is read or
written once.

Source: Williams, Waterman and Patterson 2009.
"""

from dataclasses import dataclass

from mhsa_lib import checks, costs


@dataclass(frozen=True)
class Work:
    """FLOPs that a stage computes and bytes that it moves to and from memory."""

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes


def stages(
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
    fused: bool = True,
) -> dict[str, Work]:
    """Work of one layer for ``n_query`` new tokens that look at ``n_key``, their own included.

    Prefill has as many keys as queries; decoding has one query, and the other keys come from
    the cache, whose numbers may be smaller (``cache_itemsize``). ``fused`` scores are never
    written; otherwise scores and weights are both written and read. Nothing is masked, biases
    are left out.

    >>> decoding = stages(1, 4096, 32, n_key=131_072)
    >>> [round(work.intensity, 1) for work in decoding.values()]
    [1.0, 1.0, 1.0]
    >>> round(stages(1, 4096, 32, n_key=131_072, n_kv_heads=8)["scores + mix"].intensity)
    4
    """
    n_key = n_query if n_key is None else n_key
    cache_itemsize = itemsize if cache_itemsize is None else cache_itemsize
    checks.positive(n_query=n_query, n_key=n_key, batch=batch)
    checks.positive(itemsize=itemsize, cache_itemsize=cache_itemsize)
    d_heads, d_kv_heads = costs.widths(d_model, n_heads, n_kv_heads, d_head)
    tokens = batch * n_query
    q, x = tokens * d_heads * itemsize, tokens * d_model * itemsize
    new_kv = 2 * tokens * d_kv_heads * cache_itemsize
    all_kv = 2 * batch * n_key * d_kv_heads * cache_itemsize
    table = 0 if fused else batch * n_heads * n_query * n_key * itemsize
    W_QKV = d_model * (d_heads + 2 * d_kv_heads)
    W_O = d_heads * d_model
    return {
        "project": Work(2 * tokens * W_QKV, W_QKV * itemsize + x + q + new_kv),
        "scores + mix": Work(4 * tokens * n_key * d_heads, 2 * q + all_kv + 4 * table),
        "W_O": Work(2 * tokens * W_O, W_O * itemsize + q + x),
    }


def ridge(peak: float, bandwidth: float) -> float:
    """FLOPs per byte from which on arithmetic is the limit.

    >>> round(ridge(989e12, 4.8e12))
    206
    """
    return peak / bandwidth


def attainable(intensity: float, peak: float, bandwidth: float) -> float:
    """The most FLOPs per second at that intensity.

    >>> attainable(1.0, 989e12, 4.8e12) / 989e12 < 0.005
    True
    """
    return min(peak, intensity * bandwidth)


def seconds(work: Work, peak: float, bandwidth: float) -> float:
    """The least time for that work; real kernels need more.

    >>> f"{1000 * seconds(Work(flops=0, bytes=2**34), 989e12, 4.8e12):.2f} ms"
    '3.58 ms'
    """
    return max(work.flops / peak, work.bytes / bandwidth)
