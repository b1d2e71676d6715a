"""Parameters, FLOPs and bytes of multi-head attention, by formula.

A multiply-add counts as 2 FLOPs; softmax and other elementwise work is not counted. The same
numbers come out of a ``trace`` of the real module, which the tests compare. With fewer
``n_kv_heads`` than ``n_heads``, groups of heads share their keys and values; one is
multi-query attention.

Source: Vaswani et al., section 3.2 and Table 1, arXiv 1706.03762; for shared keys and values
Shazeer, arXiv 1911.02150, and Ainslie et al., arXiv 2305.13245.
"""

from mhsa_lib import checks


def parameters(
    d_model: int,
    n_heads: int,
    *,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
    d_context: int | None = None,
    bias: bool = False,
) -> dict[str, int]:
    """Learned numbers of W_Q, W_K, W_V and W_O.

    W_K and W_V read tokens of ``d_context`` columns, d_model when not given.

    >>> sum(parameters(512, 8).values()), sum(parameters(512, 1).values())
    (1048576, 1048576)
    >>> sum(parameters(512, 8, n_kv_heads=1).values())
    589824
    """
    d_heads, d_kv_heads = widths(d_model, n_heads, n_kv_heads, d_head)
    d_context = d_model if d_context is None else d_context
    checks.positive(d_context=d_context)
    return {
        "W_Q": d_model * d_heads + d_heads * bias,
        "W_K": d_context * d_kv_heads + d_kv_heads * bias,
        "W_V": d_context * d_kv_heads + d_kv_heads * bias,
        "W_O": d_heads * d_model + d_model * bias,
    }


def flops(
    n_query: int,
    d_model: int,
    n_heads: int,
    *,
    n_key: int | None = None,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
    d_context: int | None = None,
    batch: int = 1,
) -> dict[str, int]:
    """FLOPs of each wire that needs a matrix product, nothing masked.

    >>> costs = flops(n_query=32, d_model=64, n_heads=8)
    >>> sum(costs.values()) == 8 * 32 * 64**2 + 4 * 32**2 * 64
    True
    """
    d_heads, d_kv_heads = widths(d_model, n_heads, n_kv_heads, d_head)
    n_key = n_query if n_key is None else n_key
    d_context = d_model if d_context is None else d_context
    checks.positive(n_query=n_query, n_key=n_key, batch=batch, d_context=d_context)
    project, attend = 2 * batch * d_model, 2 * batch * n_query * n_key * d_heads
    offer = 2 * batch * d_context
    return {
        "q": project * d_heads * n_query,
        "k": offer * d_kv_heads * n_key,
        "v": offer * d_kv_heads * n_key,
        "scores": attend,
        "z": attend,
        "y": project * d_heads * n_query,
    }


def bytes_of(
    n_query: int,
    d_model: int,
    n_heads: int,
    *,
    n_key: int | None = None,
    n_kv_heads: int | None = None,
    d_head: int | None = None,
    batch: int = 1,
    itemsize: int = 4,
) -> dict[str, int]:
    """Bytes of new memory each wire needs in the five stages; views cost nothing.

    >>> at_1k, at_2k = (bytes_of(n, 64, 8)["weights"] for n in (1024, 2048))
    >>> at_2k / at_1k
    4.0
    """
    d_heads, d_kv_heads = widths(d_model, n_heads, n_kv_heads, d_head)
    n_key = n_query if n_key is None else n_key
    checks.positive(n_query=n_query, n_key=n_key, batch=batch, itemsize=itemsize)
    query_rows, key_rows = batch * n_query * itemsize, batch * n_key * itemsize
    return {
        "q": query_rows * d_heads,
        "k": key_rows * d_kv_heads,
        "v": key_rows * d_kv_heads,
        "scores": query_rows * n_key * n_heads,
        "weights": query_rows * n_key * n_heads,
        "z": query_rows * d_heads,
        "concat": query_rows * d_heads,
        "y": query_rows * d_model,
    }


def cache_bytes(
    n_key: int,
    n_kv_heads: int,
    d_head: int,
    *,
    layers: int = 1,
    batch: int = 1,
    itemsize: int = 2,
) -> int:
    """Bytes of the keys and values that decoding keeps for ``n_key`` tokens.

    >>> cache_bytes(131_072, n_kv_heads=8, d_head=128, layers=32) / 2**30
    16.0
    """
    checks.positive(n_key=n_key, n_kv_heads=n_kv_heads, d_head=d_head)
    checks.positive(layers=layers, batch=batch, itemsize=itemsize)
    return 2 * layers * batch * n_key * n_kv_heads * d_head * itemsize


def widths(
    d_model: int, n_heads: int, n_kv_heads: int | None = None, d_head: int | None = None
) -> tuple[int, int]:
    """Width of all heads side by side: of the queries, and of the keys and the values.

    >>> widths(4096, 32, n_kv_heads=8)
    (4096, 1024)
    """
    d_head = checks.head_width(d_model, n_heads, d_head)
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    checks.divides(n_heads=n_heads, n_kv_heads=n_kv_heads)
    return n_heads * d_head, n_kv_heads * d_head
