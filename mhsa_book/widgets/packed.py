"""Attention weights and their tokens as they travel to a page: checked, and in 16 bits."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

LONGEST = 100_000
"""Characters of all tokens together: a page has to carry and draw them."""


def packed(
    weights: Tensor, tokens: Sequence[str], key_tokens: Sequence[str] | None = None
) -> dict[str, Any]:
    """Weights and tokens as they travel: sizes, texts, and 16-bit numbers, low byte first.

    >>> packed(torch.eye(2), ["I", "saw"])["weights"].hex()
    'ffff00000000ffff'
    """
    weights = _checked(weights)
    names = (tokens, tokens if key_tokens is None else key_tokens)
    for axis, size, given in zip(("query", "key"), weights.shape[2:], names, strict=True):
        wrong = [name for name in given if not isinstance(name, str)]
        if isinstance(given, str) or wrong:
            raise TypeError(
                f"{axis} tokens are {given!r:.60}; pass a list of texts, one for each {axis}."
            )
        if len(given) != size:
            raise ValueError(
                f"{len(given)} tokens for {size} {axis} positions: weights (layer, head, "
                f"query, key) are {tuple(weights.shape)}; give one token for each, and for "
                f"keys that are other tokens key_tokens=…."
            )
    length = sum(len(name) for given in names for name in given)
    if length > LONGEST:
        raise ValueError(
            f"tokens have {length} characters in all; a figure takes at most {LONGEST}: "
            f"shorten them."
        )
    steps = (weights.clamp(0, 1) * 65535).round()
    steps = steps.where((weights <= 0) | (steps > 0), 1)
    # Half a character (a lone surrogate) cannot be written to any file.
    texts = [[n.encode("utf-8", "replace").decode() for n in given] for given in names]
    return {
        "shape": list(weights.shape),
        "tokens": texts[0],
        "keys": texts[1],
        "weights": steps.numpy().astype("<u2").tobytes(),
    }


def unpacked(attention: dict[str, Any]) -> Tensor:
    """The weights that ``packed`` has packed, (layer, head, query, key).

    >>> unpacked(packed(torch.eye(2), ["I", "saw"])).tolist()
    [[[[1.0, 0.0], [0.0, 1.0]]]]
    """
    numbers = torch.frombuffer(bytearray(attention["weights"]), dtype=torch.uint8).double()
    return (numbers[::2] + 256 * numbers[1::2]).reshape(attention["shape"]) / 65535


def _checked(weights: Any) -> Tensor:
    """Weights (layer, head, query, key) on the CPU, whose rows are distributions or zeros."""
    if not isinstance(weights, Tensor):
        raise TypeError(f"weights are a {type(weights).__name__}; pass a tensor.")
    given = tuple(weights.shape)
    if not 2 <= weights.ndim <= 4 or not weights.numel():
        raise ValueError(
            f"weights {given} are not (layer, head, query, key), (head, query, key) or "
            f"(query, key), each with a size; choose, for example weights[0] of a batch."
        )
    weights = weights.detach().to("cpu", torch.float64)
    if not weights.isfinite().all():
        where = tuple((~weights.isfinite()).nonzero()[0].tolist())
        raise ValueError(
            f"weights{list(where)} is {weights[where]:g}; a softmax over scores that are all "
            f"-inf gives NaN, so set such rows to 0."
        )
    least, total = weights.min(), weights.sum(dim=-1).max()
    if least < 0 or total > 1.01:
        raise ValueError(
            f"weights {given} have a value {least:.4g} and a row that sums to {total:.4g}; "
            f"values lie from 0 to 1 and rows sum to 1 over keys: pass weights after softmax."
        )
    return weights.reshape(*[1] * (4 - weights.ndim), *given)
