"""Every tensor has a role and named axes, written once, here.

An alias is at the same time the type in a signature, the check that the tests switch on, and
the label that ``trace`` prints.
"""

from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor

Tokens = Float[Tensor, "*batch query d_model"]

QueryRows = Float[Tensor, "*batch query d_heads"]
KeyRows = Float[Tensor, "*batch key d_kv_heads"]
ValueRows = Float[Tensor, "*batch key d_kv_heads"]

Queries = Float[Tensor, "*batch head query d_head"]
Keys = Float[Tensor, "*batch kv_head key d_head"]
Values = Float[Tensor, "*batch kv_head key d_head"]

Scores = Float[Tensor, "*batch head query key"]
Weights = Float[Tensor, "*batch head query key"]
HeadOutputs = Float[Tensor, "*batch head query d_head"]
HeadRows = Float[Tensor, "*batch query d_heads"]

# For functions that serve queries and keys alike: any sequence.
Rows = Float[Tensor, "*batch seq d_heads"]
Heads = Float[Tensor, "*batch head seq d_head"]

# ``#``: an axis may also be of size 1, since a mask broadcasts to the scores.
Mask = Bool[Tensor, "*#batch #head #query #key"]

# Widths that differ get names of their own: one name is one size within a call.
WideQueries = Float[Tensor, "*batch head query d_wide_head"]
WideKeys = Float[Tensor, "*batch kv_head key d_wide_head"]
WideValues = Float[Tensor, "*batch kv_head key d_wide_head"]
WideHeads = Float[Tensor, "*batch head seq d_wide_head"]
WideHeadOutputs = Float[Tensor, "*batch head query d_wide_head"]
WideHeadRows = Float[Tensor, "*batch query d_wide_heads"]

Latents = Float[Tensor, "*batch key d_latent"]
QueryLatents = Float[Tensor, "*batch query d_q_latent"]
RotaryKeys = Float[Tensor, "*batch key d_rope"]
LatentQueryRows = Float[Tensor, "*batch query d_keys"]
LatentQueries = Float[Tensor, "*batch head query d_key"]
LatentKeys = Float[Tensor, "*batch kv_head key d_key"]

# A map has the axis ``head`` twice, so both are of the same size.
HeadMap = Float[Tensor, "head head"]
Maps = Float[Tensor, "*batch seq rank head"]
QueryMaps = Float[Tensor, "*batch query rank head"]
KeyMaps = Float[Tensor, "*batch key rank head"]
TokenGates = Float[Tensor, "*batch seq head"]
QueryGates = Float[Tensor, "*batch query head"]
KeyGates = Float[Tensor, "*batch key head"]

SharedQueries = Float[Tensor, "*batch query d_shared"]
SharedKeys = Float[Tensor, "*batch key d_shared"]
MixedQueries = Float[Tensor, "*batch head query d_shared"]
ContentScores = Float[Tensor, "*batch head key"]

GroupShares = Float[Tensor, "*batch query group"]
SharedShares = Float[Tensor, "*batch query shared_head"]
RoutedShares = Float[Tensor, "*batch query routed_head"]
Chosen = Bool[Tensor, "*batch query routed_head"]
Gates = Float[Tensor, "*batch query head"]
HeadGates = Float[Tensor, "*batch head"]

AXES = {
    "batch": ("#6b6b6b", "any number of leading axes, also none"),
    "query": ("#0060a0", "positions of queries; the last positions of the keys when fewer"),
    "key": ("#b34700", "positions that are attended to"),
    "head": ("#006b4e", "query heads, `n_heads`"),
    "kv_head": ("#7fd1b9", "key/value heads; equal to `head` in plain multi-head attention"),
    "d_model": ("#8e3a73", "width of a token"),
    "d_heads": ("#f0c419", "all heads side by side: `n_heads * d_head`"),
    "d_kv_heads": ("#f7de8b", "all key (or value) heads side by side"),
    "d_head": ("#56b4e9", "width of one head"),
    "d_wide_head": ("#a8d8f3", "width of a head with the dimensions its neighbours share"),
    "d_wide_heads": ("#fdf3cf", "all such heads side by side"),
    "d_latent": ("#4b2e83", "width of a latent, from which keys and values are made"),
    "d_q_latent": ("#a594e0", "width of a latent from which queries are made"),
    "d_rope": ("#d98cb3", "dimensions of a latent's key that are rotated by the position"),
    "d_key": ("#3f7d20", "width of queries and keys if values differ: `d_nope + d_rope`"),
    "d_keys": ("#b5d99c", "the queries of all heads side by side: `n_heads * d_key`"),
    "d_absorbed": ("#7a4a00", "width of a key that is a latent: `d_latent + d_rope`"),
    "group": ("#c9b7a0", "the shared and the routed heads: 2, or 1 without shared ones"),
    "shared_head": ("#00423a", "heads that every token uses"),
    "routed_head": ("#4fae8e", "heads that a token may choose"),
    "rank": ("#f2b6a0", "pairs of vectors that make up a low-rank map of heads to heads"),
    "d_shared": ("#ddd0f0", "dimensions of queries and keys that all heads share"),
    "new_key": ("#ffe0c2", "keys of one call, where a cache keeps the keys before them"),
}
"""Colour and meaning of every axis; one colour in every picture, next to the axis's name."""

AXIS_COLOURS = {axis: colour for axis, (colour, _) in AXES.items()}


def axes(alias: Any) -> tuple[str, ...]:
    """Names of the axes of an alias, leading ``*batch`` included.

    >>> axes(Scores)
    ('*batch', 'head', 'query', 'key')
    """
    return tuple(alias.dim_str.split())


def sizes(alias: Any, shape: tuple[int, ...]) -> dict[str, int | tuple[int, ...]]:
    """Size of every axis; ``batch`` is absent without leading axes, a tuple for several.

    >>> sizes(Scores, (2, 3, 6, 6))
    {'batch': 2, 'head': 3, 'query': 6, 'key': 6}
    """
    names = axes(alias)
    if len(shape) < len(names) - 1:
        raise ValueError(f"shape {shape} has too few axes for {names}.")
    n_leading = len(shape) - len(names) + 1
    found: dict[str, int | tuple[int, ...]] = {}
    if n_leading:
        found["batch"] = shape[0] if n_leading == 1 else shape[:n_leading]
    return found | dict(zip(names[1:], shape[n_leading:], strict=True))
