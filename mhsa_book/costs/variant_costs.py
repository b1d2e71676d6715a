"""Parameters, FLOPs and cached numbers of every variant, by formula.

A multiply-add counts as 2 FLOPs and elementwise work is not counted, as in ``mhsa_book.costs``.
The tests compare each formula with a trace of the module, with its parameters, and with what
``kv_cache`` keeps.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mhsa_book import costs
from mhsa_lib import checks
from mhsa_lib.variants.mixture import routed_heads
from mhsa_lib.variants.overlapped import check_overlap


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


def overlapped(
    d_model: int, n_heads: int, overlap: int, *, n: int, d_head: int | None = None
) -> Costs:
    """``OverlappedAttention`` without biases on ``n`` tokens.

    >>> more = overlapped(192, 12, 4, n=196).parameters["W_O"] - 192 * 192
    >>> more == 2 * 4 * 12 * 192
    True
    """
    d_heads, _ = costs.widths(d_model, n_heads, None, d_head)
    check_overlap(overlap, d_heads // n_heads)
    d_wide_heads = d_heads + 2 * overlap * n_heads
    project, attend, back = 2 * n * d_model * d_heads, 2 * n * n * d_wide_heads, 2 * n * d_model
    return Costs(
        {"W_Q": d_model * d_heads, "W_K": d_model * d_heads, "W_V": d_model * d_heads}
        | {"W_O": d_wide_heads * d_model},
        {"q": project, "k": project, "v": project}
        | {"scores": attend, "z": attend, "y": back * d_wide_heads},
        {"k_heads": d_heads, "v_heads": d_heads},
    )


OVERLAP_SCHEDULES: dict[str, Callable[[int, int], int]] = {
    "index_0": lambda layer, n_layers: layer,
    "index_1": lambda layer, n_layers: layer + 1,
    "index_0_half": lambda layer, n_layers: layer // 2,
    "index_1_half": lambda layer, n_layers: layer // 2 + 1,
    "index_0_reverse": lambda layer, n_layers: n_layers - layer - 1,
    "index_1_reverse": lambda layer, n_layers: n_layers - layer,
    "index_0_half_reverse": lambda layer, n_layers: (n_layers - layer - 1) // 2,
    "index_1_half_reverse": lambda layer, n_layers: (n_layers - layer - 1) // 2 + 1,
}
"""Overlap of layer 0, 1, … of ``n_layers``, in columns; named as in the released code."""


def composed(
    d_model: int, n_heads: int, *, n: int, rank: int = 2, d_head: int | None = None
) -> Costs:
    """``ComposedAttention`` without biases on ``n`` tokens.

    >>> more = composed(2560, 32, n=1).parameters
    >>> sum(more[name] for name in ("W_1", "W_2", "W_g")) == 20 * 2560 * 32 + 64 * 32**2
    True
    """
    checks.positive(rank=rank)
    plain, maps = grouped(d_model, n_heads, n_heads, n=n, d_head=d_head), rank * n_heads
    d_hidden, flops, cached = 4 * n_heads, dict(plain.flops), dict(plain.cached)
    for place, wire in (("pre", "composed_scores"), ("post", "composed_weights")):
        for side in ("query", "key"):
            flops[f"{place}_{side}_w1"] = 2 * n * d_hidden * (d_model + 2 * maps)
            flops[f"{place}_{side}_gate"] = 2 * n * d_model * n_heads
        flops[wire] = n * n * (2 * n_heads**2 + 2 * 4 * maps)
        cached |= {f"{place}_key_w1": maps, f"{place}_key_w2": maps}
        cached |= {f"{place}_key_gate": n_heads}
    branches = {
        "W_1": 4 * d_model * d_hidden,
        "W_2": 4 * d_hidden * 2 * maps,
        "W_g": 4 * d_model * n_heads,
        "W_b": 2 * n_heads**2,
    }
    return Costs(plain.parameters | branches, flops, cached)


def mixture(
    d_model: int, n_heads: int, n_shared: int, *, n: int, d_head: int | None = None
) -> Costs:
    """``MixtureOfHeadAttention`` on ``n`` tokens; the number of active heads has no part in it.

    >>> dense, plain = mixture(512, 8, 2, n=100), grouped(512, 8, 8, n=100)
    >>> sum(dense.parameters.values()) - sum(plain.parameters.values()) == (8 + 2) * 512
    True
    """
    plain = grouped(d_model, n_heads, n_heads, n=n, d_head=d_head)
    n_routed = routed_heads(n_heads, n_shared, n_active=1)
    options = {"alphas": 2 if n_shared else 1, "shared": n_shared, "routed": n_routed}
    learned = {wire: d_model * size * (size > 1) for wire, size in options.items()}
    return Costs(
        plain.parameters | dict(zip(("W_H", "W_S", "W_R"), learned.values(), strict=True)),
        plain.flops | {wire: 2 * n * numbers for wire, numbers in learned.items()},
        plain.cached,
    )


def latent(
    d_model: int,
    n_heads: int,
    d_latent: int,
    d_rope: int,
    *,
    n: int,
    n_key: int | None = None,
    d_q_latent: int | None = None,
    d_head: int | None = None,
    d_nope: int | None = None,
    absorbed: bool = False,
) -> Costs:
    """``LatentAttention`` without biases, or its absorbed form, on ``n`` new tokens.

    They meet ``n_key`` tokens, ``n`` when not given: themselves and those in the cache. Keys
    and values are made for all of them, unless W_UK and W_UV are absorbed.

    >>> v3 = {"d_q_latent": 1536, "d_head": 128, "n": 1, "n_key": 4096}
    >>> made = latent(7168, 128, 512, 64, **v3).flops
    >>> absorbed = latent(7168, 128, 512, 64, absorbed=True, **v3).flops
    >>> sum(made.values()) // sum(absorbed.values())
    91
    """
    d_heads, _ = costs.widths(d_model, n_heads, None, d_head)
    d_head = d_heads // n_heads
    d_nope, n_key = d_head if d_nope is None else d_nope, n if n_key is None else n_key
    checks.positive(d_latent=d_latent, d_nope=d_nope, n=n, n_key=n_key)
    checks.pairs(d_rope=d_rope)
    d_kv, d_keys = d_latent + d_rope, n_heads * (d_nope + d_rope)
    queries, norms = {"W_Q": d_model * d_keys}, d_latent
    flops = {"q": 2 * n * d_model * d_keys}
    if d_q_latent is not None:
        checks.positive(d_q_latent=d_q_latent)
        queries = {"W_DQ": d_model * d_q_latent, "W_UQ": d_q_latent * d_keys}
        norms += d_q_latent
        flops = {"q_latent": 2 * n * queries["W_DQ"], "q": 2 * n * queries["W_UQ"]}
    W_UK, W_UV, pairs = n_heads * d_latent * d_nope, d_latent * d_heads, 2 * n * n_key * n_heads
    flops |= {"latent": 2 * n * d_model * d_kv, "y": 2 * n * d_heads * d_model}
    if absorbed:
        flops |= {"q_absorbed": 2 * n * W_UK, "scores": pairs * d_kv}
        flops |= {"z_latent": pairs * d_latent, "z": 2 * n * W_UV}
    else:
        flops |= {"k_heads": 2 * n_key * W_UK, "v_heads": 2 * n_key * W_UV}
        flops |= {"scores": pairs * (d_nope + d_rope), "z": pairs * d_head}
    ups = {"W_DKV": d_model * d_kv, "W_UK": W_UK, "W_UV": W_UV, "W_O": d_heads * d_model}
    cached = {"latent": d_latent, "k_rope": d_rope}
    return Costs(queries | ups | {"norms": norms}, flops, cached)


def collaborative(
    d_model: int, n_heads: int, d_shared: int, *, n: int, d_head: int | None = None
) -> Costs:
    """``CollaborativeAttention`` without biases on ``n`` tokens.

    Every head takes its dot products over all ``d_shared`` columns.

    >>> half, plain = collaborative(768, 12, 384, n=128), grouped(768, 12, 12, n=128)
    >>> half.parameters["W_Q"] / plain.parameters["W_Q"]
    0.5
    >>> half.flops["scores"] / plain.flops["scores"]
    6.0
    """
    d_heads, _ = costs.widths(d_model, n_heads, None, d_head)
    checks.positive(n=n, d_shared=d_shared)
    tokens, pairs = 2 * n * d_model, 2 * n * n * n_heads
    return Costs(
        {"W_Q": d_model * d_shared, "W_K": d_model * d_shared, "W_V": d_model * d_heads}
        | {"mixing": n_heads * d_shared, "W_C": d_model * n_heads, "W_O": d_heads * d_model},
        {"q": tokens * d_shared, "k": tokens * d_shared, "v": tokens * d_heads}
        | {"content": tokens * n_heads, "scores": pairs * d_shared}
        | {"z": 2 * n * n * d_heads, "y": tokens * d_heads},
        {"k_shared": d_shared, "content": n_heads, "v_heads": d_heads},
    )
