"""The fused module against the definition, in every way it may be used."""

import torch

from tests.mhsa_lib.attack import fused_ways, transforms
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Finding
from tests.mhsa_lib.attack.problem import Problem, drawn, surroundings, weights


def case(draw: Draw) -> None:
    ways = {
        **{name: weight for name, (_, weight) in fused_ways.WAYS.items()},
        "transform": 3,
        "poison": 1.5,
    }
    way = draw.random.choices(list(ways), list(ways.values()))[0]
    draw.note(way=way)
    if way == "transform":
        transforms.transformed(draw, drawn(draw, plain=True, many=200))
    elif way == "poison":
        poisoned(draw, drawn(draw))
    else:
        many = {"checkpoint with dropout": 300, "hooks": 200, "replaced": 200}.get(way, 0)
        fused_ways.WAYS[way][0](draw, drawn(draw, many=many))


def poisoned(draw: Draw, p: Problem) -> None:
    """NaN or infinity where nobody may look: never a wrong finite number.

    A kernel that multiplies it by a weight of zero makes NaN of it, as PyTorch's own does;
    what stays finite must be right.
    """
    draw.note(legal=True)
    batch = p.x.shape[:-2]
    context = p.context.detach().clone()
    seen = p.allowed.expand(*batch, p.module.n_heads, *p.allowed.shape[-2:])
    unseen = ~seen.any(dim=-2).any(dim=-2)  # (…, key): by no query of any head
    if not unseen.any():
        return
    bad = draw.one((torch.nan, torch.inf, -torch.inf), "poison")
    clean = context.clone()
    context[unseen] = bad
    clean[unseen] = 0.0
    alone = p.given is None or p.given is p.x
    expected_of = Problem(
        p.module, p.x.detach(), clean, p.mask, p.allowed, p.computing, p.autocast
    )
    p.part = None
    if alone:  # a token that nobody sees may look itself: its own row is not judged
        p.x = context
        p.given = None if p.given is None else context
    else:
        p.given = context
    with surroundings(draw, p):
        y = p.call()
    judged = y.detach().isfinite()
    if alone:
        judged &= ~unseen[..., None]
    expected = expected_of.expected(weights(p.module))
    with torch.no_grad():
        y = torch.where(judged, y.double(), expected).to(y.dtype)
    if not judged.any() and y.numel():
        draw.note(leaks="everywhere")
    if y.isnan().any():
        raise Finding("NaN in a judged place")
    expected_of.holds(y, what="y beside poison")
