"""Every tensor of the book has a role and named axes, written once, here.

An alias is at the same time the type in a signature, the check that the tests switch on, and
the label that ``trace`` prints. Axis names are the words of the book:

================  ====================================================================
axis              meaning
================  ====================================================================
``*batch``        any number of leading axes, also none
``query``         positions of queries; the last positions of the keys when fewer
``key``           positions that are attended to
``new_key``       those of one call, where a cache keeps the keys before them
``head``          query heads, ``n_heads``
``kv_head``       key/value heads; equal to ``head`` in plain multi-head attention
``d_model``       width of a token
``d_head``        width of one head
``d_heads``       all heads side by side: ``n_heads * d_head``
``d_kv_heads``    all key (or value) heads side by side
``d_wide_head``   width of one head with the dimensions it shares with its neighbours
``d_wide_heads``  all such heads side by side
``d_latent``      width of a latent, from which keys and values are made
``d_q_latent``    width of a latent from which queries are made
``d_rope``        dimensions of a latent's key that are rotated by the position
``d_key``         width of a query and of a key whose value has another: ``d_nope + d_rope``
``d_keys``        the queries of all heads side by side: ``n_heads * d_key``
``d_absorbed``    width of a key that is a latent: ``d_latent + d_rope``
``group``         the shared and the routed heads: 2, or 1 without shared ones
``shared_head``   heads that every token uses
``routed_head``   heads that a token may choose
``rank``          pairs of vectors that make up a low-rank map of heads to heads
``d_shared``      dimensions of queries and keys that all heads share
================  ====================================================================
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
AbsorbedQueries = Float[Tensor, "*batch head query d_absorbed"]
AbsorbedKeys = Float[Tensor, "*batch kv_head key d_absorbed"]
AbsorbedValues = Float[Tensor, "*batch kv_head key d_latent"]
AbsorbedOutputs = Float[Tensor, "*batch head query d_latent"]

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

AXIS_COLOURS = {
    "batch": "#6b6b6b",
    "query": "#0060a0",
    "key": "#b34700",
    "head": "#006b4e",
    "kv_head": "#7fd1b9",
    "d_model": "#8e3a73",
    "d_heads": "#f0c419",
    "d_kv_heads": "#f7de8b",
    "d_head": "#56b4e9",
    "d_wide_head": "#a8d8f3",
    "d_wide_heads": "#fdf3cf",
    "d_latent": "#4b2e83",
    "d_q_latent": "#a594e0",
    "d_rope": "#d98cb3",
    "d_key": "#3f7d20",
    "d_keys": "#b5d99c",
    "d_absorbed": "#7a4a00",
    "group": "#c9b7a0",
    "shared_head": "#00423a",
    "routed_head": "#4fae8e",
    "rank": "#f2b6a0",
    "d_shared": "#ddd0f0",
    "new_key": "#ffe0c2",
}
"""One colour per axis, kept through every picture, where each also carries its name."""


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
    >>> sizes(Tokens, (6, 12))
    {'query': 6, 'd_model': 12}
    """
    names = axes(alias)
    if len(shape) < len(names) - 1:
        raise ValueError(f"shape {shape} has too few axes for {names}.")
    n_leading = len(shape) - len(names) + 1
    leading, rest = shape[:n_leading], shape[n_leading:]
    batch: dict[str, int | tuple[int, ...]] = {}
    if leading:
        batch["batch"] = leading[0] if len(leading) == 1 else leading
    return batch | dict(zip(names[1:], rest, strict=True))
