"""Every variant against its formula, against plain attention, and what all of them promise."""

from typing import Any

import torch
from torch import Tensor

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.conversions.to_collaborative import to_collaborative
from mhsa_book.conversions.to_plain import unshared
from mhsa_lib import MultiHeadAttention, masks
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.variants import (
    ComposedAttention,
    GroupedQueryAttention,
    LatentAttention,
    MixtureOfHeadAttention,
    OverlappedAttention,
)
from mhsa_lib.variants.composed import Compose
from mhsa_lib.variants.gated import GatedAttention
from tests.mhsa_lib.attack import attentions, oracle, rules
from tests.mhsa_lib.attack.definitions import definition, five
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import close

EPS = 1e-9
"""Float64 at these sizes: 8 walks of 10⁴ roundings, and scores of up to 10³."""


def near(what: str, found: Tensor, expected: Tensor) -> None:
    size = 1 + (expected.abs().amax() if expected.numel() else 0)
    close(what, found, expected, EPS * size)


def case(draw: Draw) -> None:
    draw.note(legal=True)
    way = draw.one(
        ("formula", "formula", "is plain", "future", "order", "padding", "alone"), "way"
    )
    with torch.set_grad_enabled(draw.chance(0.5)):
        WAYS[way](draw)


def _inputs(draw: Draw, d_model: int, cross: bool = False) -> tuple[Tensor, Tensor | None]:
    batch, n = draw.batch(), draw.length(most=65)
    x = torch.randn(*batch, n, d_model, dtype=torch.float64)
    other = torch.randn(*batch, draw.length(most=65), d_model, dtype=torch.float64)
    draw.note(x=tuple(x.shape), context=tuple(other.shape) if cross else None)
    return x, other if cross else None


def formula(draw: Draw) -> None:
    """Own sizes, any mask, and other modules that hold the same function."""
    kind = draw.one((*attentions.DEFINED, "fused", "fused latent"))
    module = attentions.drawn(draw, kind)
    x, context = _inputs(draw, module.d_model, cross=draw.chance(0.3))
    n_query, n_key = x.shape[-2], (x if context is None else context).shape[-2]
    if kind in (*attentions.POSITIONAL, "fused latent") and n_key < n_query:
        return  # positions of queries before the first key: no promise
    mask = rules.anything(draw, x.shape[:-2], module.n_heads, n_query, n_key)
    allowed = mask.dense(n_query, n_key)
    key = torch.arange(n_key)
    inputs = x, x if context is None else context, allowed
    expected = definition(module)(*inputs, torch.arange(n_key - n_query, n_key), key)
    near("y", module(x, context, mask.given), expected)
    for name, other in _same(draw, kind, module):
        near(f"y of {name}", other(x, context, mask.given), expected)


def _same(draw: Draw, kind: str, module: Any) -> list[tuple[str, Any]]:
    if kind == "latent":
        return [
            ("absorbed", AbsorbedLatentAttention(module)),
            ("fused", FusedLatentAttention(module)),
        ]
    if kind == "overlapped" and module.W_O.bias is None:
        return [("unshared", unshared(module))]
    return []


def is_plain(draw: Draw) -> None:
    """At the setting at which a variant is plain attention, it is."""
    plain = attentions.drawn(draw, "plain")
    kind = draw.one(tuple(BECOME), "kind")
    other = BECOME[kind](plain)
    if other is None:
        return
    x, context = _inputs(draw, plain.d_model, cross=draw.chance(0.3))
    n_query, n_key = x.shape[-2], (x if context is None else context).shape[-2]
    mask = rules.anything(draw, x.shape[:-2], plain.n_heads, n_query, n_key)
    allowed, W = mask.dense(n_query, n_key), five(plain)
    inputs = x, x if context is None else context, allowed
    expected = oracle.whole(*inputs, W, plain.n_heads, plain.n_heads, plain.attend.scale)
    near("y", other(x, context, mask.given), expected)
    near("y of plain attention", plain(x, context, mask.given), expected)


def _loaded(plain: MultiHeadAttention, other: Any) -> Any:
    other = other.double()
    other.load_state_dict(plain.state_dict(), strict=False)
    return other


def _options(plain: MultiHeadAttention) -> dict[str, Any]:
    return {"d_head": plain.d_head, "bias": plain.W_O.bias is not None}


def _mixture(plain: MultiHeadAttention) -> Any:
    if plain.n_heads < 2:
        return None
    sizes = plain.d_model, plain.n_heads, 1, plain.n_heads - 1
    other = _loaded(plain, MixtureOfHeadAttention(*sizes, **_options(plain)))
    for parameter in other.route.parameters():
        torch.nn.init.zeros_(parameter)
    return other.eval()


def _latent(plain: MultiHeadAttention) -> Any:
    if plain.W_O.bias is not None:
        return None
    options = _options(plain) | {"norm": torch.nn.Identity}
    other = LatentAttention(plain.d_model, plain.n_heads, plain.d_model, 0, **options).double()
    with torch.no_grad():
        other.project.W_Q.weight.copy_(plain.project.W_Q.weight)
        other.project.W_DKV.weight.copy_(torch.eye(plain.d_model))
        other.split.W_UK.weight.copy_(plain.project.W_K.weight)
        other.split.W_UV.weight.copy_(plain.project.W_V.weight)
        other.W_O.weight.copy_(plain.W_O.weight)
    return other


BECOME = {
    "grouped": lambda p: _loaded(
        p, GroupedQueryAttention(p.d_model, p.n_heads, p.n_heads, **_options(p))
    ),
    "overlapped": lambda p: _loaded(
        p, OverlappedAttention(p.d_model, p.n_heads, 0, **_options(p))
    ),
    "composed": lambda p: _loaded(
        p, ComposedAttention(p.d_model, p.n_heads, pre=Compose(), post=Compose(), **_options(p))
    ),
    "gated": lambda p: _loaded(p, GatedAttention(p.d_model, p.n_heads, **_options(p))).eval(),
    "mixture": _mixture,
    "latent": _latent,
    "collaborative": to_collaborative,
}


def _any(draw: Draw) -> tuple[Any, Tensor]:
    kind = draw.one((*attentions.STAGED, "fused", "fused latent"))
    module = attentions.drawn(draw, kind)
    x, _ = _inputs(draw, module.d_model)
    return module, x


def future(draw: Draw) -> None:
    """What comes later changes nothing before it."""
    module, x = _any(draw)
    if x.shape[-2] < 2:
        return
    t = draw.whole(1, x.shape[-2] - 1)
    other = torch.cat([x[..., :t, :], 3 * torch.randn_like(x[..., t:, :])], dim=-2)
    mask = draw.one((masks.causal, masks.sliding_window(3), masks.causal & masks.prefix(2)))
    draw.note(mask=mask, t=t)
    near(
        "y before t",
        module(other, mask=mask)[..., :t, :],
        module(x, mask=mask)[..., :t, :].double(),
    )
    near(
        "y of the beginning alone",
        module(x[..., :t, :], mask=mask),
        module(x, mask=mask)[..., :t, :],
    )


def order(draw: Draw) -> None:
    """Without positions, tokens in another order give the same outputs in that order."""
    kind = draw.one(
        [k for k in (*attentions.STAGED, "fused") if k not in attentions.POSITIONAL]
    )
    module = attentions.drawn(draw, kind)
    x, _ = _inputs(draw, module.d_model)
    p = torch.randperm(x.shape[-2])
    allowed = torch.rand(x.shape[-2], x.shape[-2]) < 0.6
    near(
        "y of tokens in another order",
        module(x[..., p, :], mask=allowed[p][:, p]),
        module(x, mask=allowed)[..., p, :],
    )


def padding(draw: Draw) -> None:
    """What stands in padding, and how much of it, changes nothing."""
    module, x = _any(draw)
    if x.ndim != 3 or not x.numel():
        return
    n = x.shape[-2]
    ends = [draw.whole(0, n) for _ in x]
    rule = draw.one((masks.padding, masks.key_padding), "rule")(ends)
    rule = rule & draw.one(
        (masks.causal, masks.prefix(1), masks.sliding_window(4), masks.prefix(n))
    )
    behind = torch.arange(n) >= torch.tensor(ends)[:, None]
    other = torch.where(behind[..., None], 5 * torch.randn_like(x), x)
    longer = torch.cat([other, torch.randn_like(x[:, :2])], dim=1)
    draw.note(mask=rule)
    y, z, w = module(x, mask=rule), module(other, mask=rule), module(longer, mask=rule)[:, :n]
    near("y, other padding", z[~behind], y[~behind])
    near("y, more padding", w[~behind], y[~behind])


def alone(draw: Draw) -> None:
    """One sequence of a batch by itself gives what it gave in the batch."""
    module, x = _any(draw)
    if x.ndim < 3 or not x.shape[0]:
        return
    i = draw.whole(0, x.shape[0] - 1)
    mask = draw.one((None, masks.causal, masks.sliding_window(2), masks.prefix(3)), "mask")
    near("y of one sequence", module(x[i], mask=mask), module(x, mask=mask)[i])
    near("y of a batch of one", module(x[i : i + 1], mask=mask)[0], module(x, mask=mask)[i])


WAYS = {
    "formula": formula,
    "is plain": is_plain,
    "future": future,
    "order": order,
    "padding": padding,
    "alone": alone,
}
