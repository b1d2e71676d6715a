"""Parameters, FLOPs and cached numbers of every variant, by formula.

A multiply-add counts as 2 FLOPs and elementwise work is not counted, as in ``mhsa_lib.costs``.
The tests compare each formula with a trace of the module, with its parameters, and with what
``remember`` keeps.
"""

from dataclasses import dataclass

from mhsa_lib import checks, costs


@dataclass(frozen=True)
class Costs:
    """One layer on one sequence: learned numbers, FLOPs per wire, and what a token leaves.

    ``cached`` maps a wire to the numbers that every token keeps in the cache.
    """

    parameters: dict[str, int]
    flops: dict[str, int]
    cached: dict[str, int]

    def cache_bytes(self, n_tokens: int, *, layers: int = 1, itemsize: int = 2) -> int:
        """Bytes of the cache after ``n_tokens``.

        >>> grouped(512, 8, 2, n=1).cache_bytes(1)
        512
        """
        checks.positive(n_tokens=n_tokens, layers=layers, itemsize=itemsize)
        return layers * n_tokens * itemsize * sum(self.cached.values())


def grouped(
    d_model: int, n_heads: int, n_kv_heads: int, *, n: int, d_head: int | None = None
) -> Costs:
    """``GroupedQueryAttention`` without biases on ``n`` tokens; plain when the heads are equal.

    >>> grouped(4096, 32, 8, n=1).parameters["W_K"]
    4194304
    """
    shared = {"n_kv_heads": n_kv_heads, "d_head": d_head}
    _, d_kv_heads = costs.widths(d_model, n_heads, n_kv_heads, d_head)
    return Costs(
        costs.parameters(d_model, n_heads, **shared),  # type: ignore[arg-type]
        costs.flops(n, d_model, n_heads, **shared),  # type: ignore[arg-type]
        {"k_heads": d_kv_heads, "v_heads": d_kv_heads},
    )
