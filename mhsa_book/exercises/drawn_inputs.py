"""Inputs on which the core exercises are tried; the smallest come first."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks


def counted(*shape: int) -> Tensor:
    """Numbers 1, 2, 3, …: every address has a number of its own.

    >>> counted(2, 2).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Random numbers with one decimal, the same every time."""
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return numbers.mul(10).round().div(10)


def matrices(rows: int, columns: int, names: str = "QKVO") -> dict[str, Tensor]:
    """W_Q, W_K, …, drawn, by their names."""
    return {
        f"W_{name}": drawn(rows, columns, seed=seed) / 2
        for seed, name in enumerate(names, start=1)
    }


def rows() -> Iterator[dict[str, Any]]:
    """Rows to cut, and into how many heads."""
    for batch, seq, d_model, n_heads in (
        (1, 2, 4, 2),
        (1, 2, 6, 3),
        (2, 3, 4, 2),
        (2, 5, 12, 3),
    ):
        yield {"x": counted(batch, seq, d_model), "n_heads": n_heads}


def heads() -> Iterator[dict[str, Any]]:
    """z of a few heads."""
    for shape in ((1, 2, 2, 2), (1, 3, 2, 2), (2, 2, 3, 2), (2, 3, 5, 4)):
        yield {"z": counted(*shape)}


def queries_and_keys() -> Iterator[dict[str, Any]]:
    """Queries, keys and the scale of their width; at the end other scales."""
    for n_heads, n_query, n_key, d_head in (
        (1, 1, 2, 2),
        (1, 2, 3, 2),
        (2, 3, 3, 4),
        (3, 4, 6, 9),
    ):
        q, k = drawn(2, n_heads, n_query, d_head), drawn(2, n_heads, n_key, d_head, seed=1)
        yield {"q": q, "k": k, "scale": d_head**-0.5}
    for scale in (0.3, 2.0):
        yield {"q": q, "k": k, "scale": scale}


def scores() -> Iterator[dict[str, Any]]:
    """Scores and masks: large ones, hidden ones, and a row without a key."""
    yield {"scores": torch.tensor([[[0.0, 1.0]]]), "mask": None}
    yield {
        "scores": torch.tensor([[[0.0, 1.0, 2.0]]]),
        "mask": torch.tensor([True, True, False]),
    }
    yield {"scores": drawn(1, 3, 3), "mask": masks.causal.dense(3, 3)}
    yield {"scores": torch.tensor([[[1000.0, 1001.0]]]), "mask": None}
    yield {
        "scores": torch.tensor([[[0.0, 1.0, 1000.0]]]),
        "mask": torch.tensor([True, True, False]),
    }
    yield {"scores": drawn(2, 2, 3, 3), "mask": masks.causal.dense(3, 3)}
    far = torch.tensor([[[-20_000.0, -20_001.0, 0.0]]])
    yield {"scores": far, "mask": torch.tensor([True, True, False])}
    yield {"scores": drawn(2, 2, 3, 3), "mask": padding(2, 3)}
    empty = torch.tensor([[True, True], [False, False]])
    yield {"scores": drawn(1, 2, 2), "mask": empty}


def padding(*lengths: int) -> Tensor:
    """Which keys are words, (batch, 1, 1, n_key): another mask for each sentence."""
    return masks.key_padding([*lengths]).dense(1, max(lengths))


def attend() -> Iterator[dict[str, Any]]:
    """Queries, keys, values and a mask."""
    for n_heads, n_query, n_key, d_head in (
        (1, 1, 2, 1),
        (1, 2, 2, 4),
        (2, 3, 3, 4),
        (3, 4, 6, 9),
    ):
        keys = (2, n_heads, n_key, d_head)
        q, k, v = drawn(2, n_heads, n_query, d_head), drawn(*keys, seed=1), drawn(*keys, seed=2)
        for mask in (None, masks.causal.dense(n_query, n_key)):
            yield {"q": q, "k": k, "v": v, "mask": mask}
    yield {"q": q, "k": k, "v": v, "mask": padding(3, 6)}
    blind = masks.causal.dense(n_query, n_key).clone()
    blind[1] = False
    yield {"q": q, "k": k, "v": v, "mask": blind}
    yield {"q": 1000 * q, "k": k, "v": v, "mask": None}


def whole() -> Iterator[dict[str, Any]]:
    """Rows, maps, heads and a mask; the last numbers are large."""
    for seq, d_model, n_heads in ((1, 2, 1), (2, 4, 2), (3, 12, 3)):
        x, causal = drawn(2, seq, d_model), masks.causal.dense(seq, seq)
        for mask in (None, causal, causal.tril(-1)):  # the last one leaves query 0 nothing
            yield {"x": x, **matrices(d_model, d_model), "n_heads": n_heads, "mask": mask}
    rest = {**matrices(d_model, d_model), "n_heads": n_heads}
    yield {"x": x, **rest, "mask": padding(2, 3)}
    yield {"x": 1000 * x, **rest, "mask": None}


def steps() -> Iterator[dict[str, Any]]:
    """One token, and what is known before it."""
    for n_before, d_model, n_heads in ((1, 2, 1), (2, 4, 2), (4, 12, 3)):
        known = (2, n_heads, n_before, d_model // n_heads)
        kept = {"k": drawn(*known, seed=7), "v": drawn(*known, seed=8)}
        maps = matrices(d_model, d_model)
        yield {"x": drawn(2, 1, d_model), **kept, **maps, "n_heads": n_heads}


def groups() -> Iterator[dict[str, Any]]:
    """Queries, and fewer keys and values."""
    for n_heads, n_kv_heads, n_query, n_key, d_head in (
        (2, 1, 2, 2, 1),
        (4, 2, 2, 2, 1),
        (3, 3, 2, 2, 4),
        (6, 3, 5, 5, 4),
        (6, 2, 3, 5, 4),
        (3, 1, 1, 4, 4),
    ):
        keys = (2, n_kv_heads, n_key, d_head)
        k, v = drawn(*keys, seed=1), drawn(*keys, seed=2)
        q = drawn(2, n_heads, n_query, d_head)
        yield {"q": q, "k": k, "v": v, "n_heads": n_heads, "n_kv_heads": n_kv_heads}


def sizes() -> Iterator[dict[str, Any]]:
    """Numbers of queries and keys."""
    for n_query, n_key in ((1, 1), (2, 2), (4, 4), (1, 3), (2, 5)):
        yield {"n_query": n_query, "n_key": n_key}


def lengths() -> Iterator[dict[str, Any]]:
    """Words of each sentence, and the keys of the longest."""
    for lengths, n_key in (([1], 1), ([1], 2), ([2, 3], 3), ([3, 0, 2], 4)):
        yield {"lengths": lengths, "n_key": n_key}
