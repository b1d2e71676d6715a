"""Parameters, FLOPs and bytes of plain multi-head attention, by formula.

A multiply-add counts as 2 FLOPs; softmax and other elementwise work is not counted. The same
numbers come out of a ``trace`` of the real module, which the tests compare.

Source: Vaswani et al., section 3.2 and Table 1, arXiv 1706.03762.
"""

from mhsa_lib import checks


def parameters(
    d_model: int, n_heads: int, *, d_head: int | None = None, bias: bool = False
) -> dict[str, int]:
    """Learned numbers of W_Q, W_K, W_V and W_O.

    >>> sum(parameters(512, 8).values()), sum(parameters(512, 1).values())
    (1048576, 1048576)
    """
    d_heads = n_heads * checks.head_width(d_model, n_heads, d_head)
    into_heads = d_model * d_heads + d_heads * bias
    return {
        "W_Q": into_heads,
        "W_K": into_heads,
        "W_V": into_heads,
        "W_O": d_heads * d_model + d_model * bias,
    }


def flops(
    n_query: int,
    d_model: int,
    n_heads: int,
    *,
    n_key: int | None = None,
    d_head: int | None = None,
    batch: int = 1,
) -> dict[str, int]:
    """FLOPs of each wire that needs a matrix product, nothing masked.

    >>> costs = flops(n_query=32, d_model=64, n_heads=8)
    >>> sum(costs.values()) == 8 * 32 * 64**2 + 4 * 32**2 * 64
    True
    """
    d_heads = n_heads * checks.head_width(d_model, n_heads, d_head)
    n_key = n_query if n_key is None else n_key
    checks.positive(n_query=n_query, n_key=n_key, batch=batch)
    project, attend = 2 * batch * d_model * d_heads, 2 * batch * n_query * n_key * d_heads
    return {
        "q": project * n_query,
        "k": project * n_key,
        "v": project * n_key,
        "scores": attend,
        "z": attend,
        "y": project * n_query,
    }


def bytes_of(
    n_query: int,
    d_model: int,
    n_heads: int,
    *,
    n_key: int | None = None,
    d_head: int | None = None,
    batch: int = 1,
    itemsize: int = 4,
) -> dict[str, int]:
    """Bytes of new memory each wire needs in the five stages; views cost nothing.

    >>> at_1k, at_2k = (bytes_of(n, 64, 8)["weights"] for n in (1024, 2048))
    >>> at_2k / at_1k
    4.0
    """
    d_heads = n_heads * checks.head_width(d_model, n_heads, d_head)
    n_key = n_query if n_key is None else n_key
    checks.positive(n_query=n_query, n_key=n_key, batch=batch, itemsize=itemsize)
    query_rows, key_rows = batch * n_query * itemsize, batch * n_key * itemsize
    return {
        "q": query_rows * d_heads,
        "k": key_rows * d_heads,
        "v": key_rows * d_heads,
        "scores": query_rows * n_key * n_heads,
        "weights": query_rows * n_key * n_heads,
        "z": query_rows * d_heads,
        "concat": query_rows * d_heads,
        "y": query_rows * d_model,
    }
