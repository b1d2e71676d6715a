"""Every tensor of the book has a role and named axes, written once, here.

An alias is at the same time the type in a signature, the check that the tests switch on, and
the label that ``trace`` prints. Axis names are the words of the book:

==============  ====================================================================
axis            meaning
==============  ====================================================================
``*batch``      any number of leading axes, also none
``query``       positions that ask; the last positions of the keys when fewer
``key``         positions that are looked at
``head``        query heads, ``n_heads``
``kv_head``     key/value heads; equal to ``head`` in plain multi-head attention
``d_model``     width of a token
``d_head``      width of one head
``d_heads``     all heads side by side: ``n_heads * d_head``
``d_kv_heads``  all key (or value) heads side by side
==============  ====================================================================
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

Rows = Float[Tensor, "*batch seq d_heads"]
Heads = Float[Tensor, "*batch head seq d_head"]

Mask = Bool[Tensor, "*#batch #head #query #key"]

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
