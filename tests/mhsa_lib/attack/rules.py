"""Masks at random, each twice: as the library takes it, and as a tensor made without it.

Predicates are composed to depth 4 out of bands, lengths and rules of their own per sequence and
per head; boolean tensors come in every shape that broadcasts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import masks
from tests.mhsa_lib.attack.draw import Draw

Dense = Callable[[Tensor, Tensor], Tensor]
"""(query, 1) and (key) positions to what is allowed, batch and head axes before them."""


@dataclass
class Mask:
    """``given`` to the library; ``dense(n_query, n_key)`` is what it must mean."""

    given: Any
    rule: Dense | None
    text: str
    tensor: Tensor | None = None

    def dense(self, n_query: int, n_key: int) -> Tensor:
        if self.tensor is not None:
            full = torch.broadcast_shapes(self.tensor.shape, (n_query, n_key))
            return self.tensor.expand(full)
        if self.rule is None:
            return torch.ones(n_query, n_key, dtype=torch.bool)
        key = torch.arange(n_key)
        allowed = self.rule(torch.arange(n_key - n_query, n_key)[:, None], key)
        return allowed.expand(*allowed.shape[:-2], n_query, n_key)


def predicate(
    draw: Draw, batch: tuple[int, ...], n_heads: int, n_key: int, depth: int | None = None
) -> Mask:
    """A composed rule. Sequences and heads have rules of their own in some of them."""
    depth = draw.random.choices((1, 2, 3, 4), (6, 3, 2, 1))[0] if depth is None else depth
    if depth == 1:
        return _leaf(draw, batch, n_heads, n_key)
    one = predicate(draw, batch, n_heads, n_key, depth - 1)
    if draw.chance(0.2):
        return Mask(~one.given, lambda q, k: ~one.rule(q, k), f"~{one.text}")
    two = predicate(draw, batch, n_heads, n_key, draw.whole(1, depth - 1))
    if draw.chance(0.6):
        both = lambda q, k: one.rule(q, k) & two.rule(q, k)  # noqa: E731
        return Mask(one.given & two.given, both, f"({one.text} & {two.text})")
    either = lambda q, k: one.rule(q, k) | two.rule(q, k)  # noqa: E731
    return Mask(one.given | two.given, either, f"({one.text} | {two.text})")


def _leaf(draw: Draw, batch: tuple[int, ...], n_heads: int, n_key: int) -> Mask:
    kinds = ["causal", "window", "prefix", "custom", "by head"]
    if batch:
        kinds += ["padding", "key_padding", "by sequence"]
    kinds += ["documents"]
    kind = draw.one(kinds)
    if kind == "causal":
        return Mask(masks.causal, lambda q, k: q >= k, "causal")
    if kind == "window":
        w = draw.one((1, 2, 3, draw.whole(1, n_key + 2)))
        return Mask(
            masks.sliding_window(w), lambda q, k: (q >= k) & (q < k + w), f"sliding_window({w})"
        )
    if kind == "prefix":
        n = draw.whole(1, n_key + 1)
        return Mask(masks.prefix(n), lambda q, k: (k < n) | (q >= k), f"prefix({n})")
    if kind in ("padding", "key_padding"):
        return lengths(draw, batch, n_key, kind)
    if kind == "documents":
        return documents(draw, batch, n_key)
    step, off = draw.whole(1, 4), draw.whole(0, 3)
    if kind == "custom":
        rule = lambda q, k: (q + 2 * k + off) % (step + 1) != 0  # noqa: E731
        return Mask(masks.custom(rule), rule, f"custom((q+2k+{off})%{step + 1}!=0)")
    if kind == "by head":
        head = torch.arange(n_heads)[:, None, None]
        rule = lambda q, k: (q - k + head + off) % (step + 1) != 0  # noqa: E731
        return Mask(masks.custom(rule), rule, f"custom((q-k+head+{off})%{step + 1}!=0)")
    sequence = torch.arange(torch.Size(batch).numel()).reshape(*batch, 1, 1, 1)
    rule = lambda q, k: (q * k + sequence + off) % (step + 1) != 0  # noqa: E731
    return Mask(masks.custom(rule), rule, f"custom((q*k+sequence+{off})%{step + 1}!=0)")


def documents(draw: Draw, batch: tuple[int, ...], n_key: int) -> Mask:
    """Packed texts, whose ids may come back later; negative ones are padding."""
    of = draw.one(((), batch))
    ids = torch.randint(-1, 4, (*of, n_key + draw.whole(0, 2)))
    ids = ids.sort().values if draw.chance(0.6) else ids
    given = ids.tolist() if draw.chance(0.5) and ids.numel() else ids.clone()
    n = ids.shape[-1]
    same = (ids[..., :, None] == ids[..., None, :]) & (ids >= 0)[..., :, None]
    same = torch.nn.functional.pad(same, (0, 1, 0, 1))  # positions outside of the text

    def rule(q: Tensor, k: Tensor) -> Tensor:
        q, k = (torch.where((p < 0) | (p >= n), n, p) for p in (q, k))
        allowed = same[..., q, k]
        return allowed[..., None, :, :] if of else allowed

    return Mask(masks.documents(given), rule, f"documents({ids.tolist()})")


def lengths(draw: Draw, batch: tuple[int, ...], n_key: int, kind: str) -> Mask:
    """Padding behind; lengths as a list or a tensor, none, all, or more than there are."""
    of = batch if len(batch) > 1 or draw.chance(0.95) else (1,)
    of = of[-1:] if len(of) > 1 and draw.chance(0.3) else of
    ends = torch.tensor(
        [draw.one((0, 1, n_key, n_key + 3, draw.whole(0, n_key))) for _ in range(_numel(of))],
        dtype=draw.one((torch.int64, torch.int32)),
    ).reshape(of)
    given = ends.tolist() if len(of) == 1 and draw.chance(0.5) and ends.numel() else ends
    end = ends.clone()[..., None, None, None]
    text = f"{kind}({ends.tolist()})"
    if kind == "key_padding":
        return Mask(masks.key_padding(given), lambda q, k: (k < end) & (q == q), text)
    return Mask(masks.padding(given), lambda q, k: (k < end) & (q < end), text)


def tensor(draw: Draw, batch: tuple[int, ...], n_heads: int, n_query: int, n_key: int) -> Mask:
    """A boolean tensor of any shape that broadcasts, and of any layout in memory."""
    full = (*batch, n_heads, n_query, n_key)
    shape = [size if draw.chance(0.6) else 1 for size in full]
    shape = shape[draw.whole(0, len(shape)) if draw.chance(0.4) else 0 :]
    allowed = torch.rand(shape) < draw.one((0.1, 0.5, 0.9, 1.0))
    text = f"tensor{tuple(shape)}"
    way = draw.one(("plain", "plain", "turned", "additive", "torch", "expanded"))
    given = allowed.clone()
    if way == "turned" and len(shape) > 1:
        given = allowed.mT.contiguous().mT
    if way == "additive":
        low = draw.one((-torch.inf, torch.finfo(torch.float32).min))
        given = masks.from_additive(torch.zeros(shape).masked_fill(~allowed, low))
    if way == "torch":
        given = masks.from_torch(masks.to_torch(allowed))
    if way == "expanded":
        given = allowed.expand(full)
    return Mask(given, None, f"{text} {way}", allowed)


def anything(
    draw: Draw, batch: tuple[int, ...], n_heads: int, n_query: int, n_key: int
) -> Mask:
    kind = draw.random.choices(("none", "predicate", "tensor"), (2, 6, 3))[0]
    if kind == "none":
        mask = Mask(None, None, "None")
    elif kind == "predicate":
        mask = predicate(draw, batch, n_heads, n_key)
    else:
        mask = tensor(draw, batch, n_heads, n_query, n_key)
    draw.note(mask=mask.text)
    return mask


def _numel(shape: tuple[int, ...]) -> int:
    return torch.Size(shape).numel()
