"""Ways to train one fused attention: recomputed passes and dropout."""

import torch
from torch.utils.checkpoint import checkpoint

from mhsa_lib import masks
from tests.mhsa_lib.attack import rules
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Finding, close, same
from tests.mhsa_lib.attack.problem import Problem, surroundings, weights


def checkpointed(draw: Draw, p: Problem) -> None:
    """Recomputed in the backward pass: the same numbers."""
    draw.note(legal=True)
    p.x.requires_grad_()
    if p.part is not None:
        p.given = p.x[..., p.part, :]
    reentrant = draw.one((True, False), "reentrant")
    with surroundings(draw, p, "grad"):
        y = checkpoint(lambda x: p.call(x=x), p.x, use_reentrant=reentrant)
        p.holds(y)
        # a reentrant checkpoint knows nothing of torch.autograd.grad
        y.backward(direction := torch.randn_like(y))
    expected, allowed = p.expected_gradients(direction.double())
    close("gradient of x", p.x.grad, expected["x"], allowed["x"])


def recomputed_dropout(draw: Draw, p: Problem) -> None:
    """With dropout, a recomputed pass is the pass: its gradient is that of the result seen."""
    draw.note(legal=True)
    p.module.dropout, seen = 0.5, []
    if p.given is None and draw.chance(0.5):
        p.mask = rules.Mask(masks.causal, None, "causal")
        draw.note(mask="causal")
    p.module.train()
    reentrant = draw.one((True, False), "reentrant")

    def run(x):
        y = p.call(x=x)
        seen.append(y.detach().clone())
        return y

    with surroundings(draw, p, "grad"):
        y = checkpoint(run, p.x.requires_grad_(), use_reentrant=reentrant)
        y.sum().backward()
    if len(seen) == 2 and y.numel():
        size = seen[0].double().abs().amax() + 1e-30
        eps = 8 * torch.finfo(p.computing).eps * (p.x.shape[-1] + p.context.shape[-2] + 4)
        gap = (seen[0].double() - seen[1].double()).abs().amax()
        if gap > eps * size:
            raise Finding(f"recomputed under dropout: another result, by {gap:.2g}")


def dropped(draw: Draw, p: Problem) -> None:
    """Dropout leaves the mean where it was, and does drop."""
    draw.note(legal=True)
    m, n = p.module, 400
    if p.x.ndim != 2 or p.autocast or p.computing is torch.bfloat16 or len(p.x) > 17:
        m = m.float()
        x = torch.randn(draw.whole(2, 9), m.d_model)
        p.x, p.given, p.part, p.computing, p.autocast = x, None, None, torch.float32, False
        causal = draw.chance(0.5)
        p.mask.given = torch.ones(len(x), len(x), dtype=torch.bool).tril() if causal else None
        p.allowed = p.mask.given if causal else torch.ones(len(x), len(x), dtype=torch.bool)
        draw.note(mask="causal tensor" if causal else None, x=tuple(x.shape), context=None)
    m.dropout = draw.one((0.1, 0.5, 0.9), "dropout")
    m.train()
    x = p.x.expand(n, *p.x.shape)
    context = None if p.given is None else p.given.expand(n, *p.given.shape)
    with torch.set_grad_enabled(draw.one((True, False))):
        y = m(x, context, p.mask.given).detach().double()
    m.eval()
    expected = p.expected(weights(m))
    if not expected.numel():
        return
    error = y.std(dim=0) / n**0.5
    # 7 standard errors; a normal tail, but heavy where one weight carries everything
    close(
        "mean under dropout",
        y.mean(dim=0),
        expected,
        7 * error + 1e-4 * expected.abs().amax() + 1e-9,
    )
    seen = p.allowed.expand(m.n_heads, *p.allowed.shape[-2:])
    if seen.any() and expected.abs().amax() > 1e-9 and not y.std(dim=0).amax() > 0:
        raise Finding("dropout in training drops nothing")
    with torch.no_grad():
        same("two passes in evaluation agree", torch.equal(p.call(), p.call()), True)
