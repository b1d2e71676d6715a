"""Derivatives of every kind: what PyTorch does to the definition it must do to the library."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Skipped, close
from tests.mhsa_lib.attack.problem import Problem, surroundings, weights

Function = Callable[[Tensor], Tensor]


def hvp(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """Hessian of Σ f² times v, by two backward passes."""
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x).square().sum(), x, create_graph=True)
    return torch.autograd.grad(g, x, v)[0]


def penalty(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """Gradient of the size of a gradient, through a residual connection."""
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad((x + f(x)).square().sum(), x, create_graph=True)
    return torch.autograd.grad(g.square().sum(), x)[0]


def dual(f: Function, x: Tensor, v: Tensor) -> Tensor:
    with torch.autograd.forward_ad.dual_level():
        y = f(torch.autograd.forward_ad.make_dual(x.detach(), v))
        tangent = torch.autograd.forward_ad.unpack_dual(y).tangent
    return torch.zeros_like(y) if tangent is None else tangent


def jvp(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.jvp(f, (x.detach(),), (v,))[1]


def jvp_without_grad(f: Function, x: Tensor, v: Tensor) -> Tensor:
    with torch.no_grad():
        return jvp(f, x, v)


def vjp(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.vjp(f, x.detach())[1](v)[0]


def func_grad(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.grad(lambda x: (f(x) * v).sum())(x.detach())


def forward_over_reverse(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.jvp(torch.func.grad(lambda x: f(x).square().sum()), (x.detach(),), (v,))[
        1
    ]


def jacrev(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.jacrev(f)(x.detach())


def vmap(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.vmap(f)(torch.stack([x.detach(), v]))


def samples(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """The gradient of every sample of a batch."""
    one = torch.func.grad(lambda x: f(x).square().sum())
    return torch.func.vmap(one)(torch.stack([x.detach(), v]))


TRANSFORMS: dict[str, Callable[[Function, Tensor, Tensor], Tensor]] = {
    f.__name__: f
    for f in (
        *(hvp, penalty, dual, jvp, jvp_without_grad, vjp, func_grad),
        *(forward_over_reverse, vmap, samples, jacrev),
    )
}


FORWARD = ("dual", "jvp", "jvp_without_grad", "forward_over_reverse")


def transformed(draw: Draw, p: Problem) -> None:
    """The result within rounding of the definition's, or an error."""
    name = draw.one(tuple(TRANSFORMS), "transform")
    draw.note(way=f"transform {name}")
    if p.x.numel() > (300 if name == "jacrev" else 20_000) or not p.x.numel():
        raise Skipped("too large for this transform")
    span = 1 + sum((n - 1) * step for n, step in zip(p.x.shape, p.x.stride(), strict=True))
    if name in FORWARD and span < p.x.numel():
        raise Skipped("rows share memory: there nn.Linear's own tangents are wrong")
    if draw.chance(0.3):
        p.module.requires_grad_(False)
    W, v = weights(p.module), torch.randn_like(p.x)
    follows = p.given is None or p.given is p.x or p.part is not None
    fixed = None if follows else p.context

    def definition(x: Tensor) -> Any:
        context = x if fixed is None else fixed.double()
        context = context if p.part is None else x[..., p.part, :]
        return p.expected(W, x, context)

    f = TRANSFORMS[name]
    try:
        expected = f(definition, p.x.detach().double(), v.double())
    except Exception as error:
        raise Skipped(f"{name} is impossible in torch itself") from error
    with surroundings(draw, p, "grad"):
        found = f(lambda x: p.call(x=x), p.x, v)
    allowed = _normwise(p, W, expected)
    close(name, found, expected, allowed)


def _normwise(p: Problem, W: dict[str, Tensor], expected: Tensor) -> float:
    """What rounding may do to the largest number of a derivative.

    A walk over its terms, times how far the scores reach, for weights move by as much as scores
    are rounded. Terms may cancel, down to zero where there is one key: they are as large as the
    product of the matrices, squared for a second derivative.
    """
    x, context = p.x.detach().double(), p.context.detach().double()
    terms = x.shape[-1] + context.shape[-2] + p.module.d_head + x[..., 0].numel()
    q, k = (
        (t @ W[n].T).abs().amax() if t.numel() else t.sum()
        for t, n in ((x, "Q"), (context, "K"))
    )
    reach = float(abs(p.module.scale) * p.module.d_head * q * k)
    gain = {name: float(W[name].abs().sum(dim=1).amax()) for name in "QKVO"}
    size = float(x.abs().amax() + (context.abs().amax() if context.numel() else 0))
    sharp = abs(p.module.scale) * size**2 * gain["Q"] * gain["K"]
    slope = gain["O"] * gain["V"] * (1 + size) * (1 + sharp)
    cancelled = min(slope**2, 1e4)
    eps = 8 * torch.finfo(p.computing).eps * sqrt(terms) * (1 + reach) ** 2
    if eps > 0.05:
        raise Skipped("rounding alone may change this derivative by 5 %")
    return eps * (float(expected.abs().amax()) + cancelled)
