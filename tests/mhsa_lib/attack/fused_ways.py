"""Ways to use one fused attention: each must give the function of the definition, or refuse."""

from collections.abc import Callable

from mhsa_lib import FusedMultiHeadAttention
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.fused_parts import hooks, replaced, replaced_stage
from tests.mhsa_lib.attack.fused_process import (
    built_elsewhere,
    compiled,
    in_threads,
    other_defaults,
)
from tests.mhsa_lib.attack.fused_training import checkpointed, dropped, recomputed_dropout
from tests.mhsa_lib.attack.fused_weights import changed, copies, functional
from tests.mhsa_lib.attack.problem import Problem, surroundings

Way = Callable[[Draw, Problem], None]


def plain(draw: Draw, p: Problem) -> None:
    """As it is, in every mode, with gradients of some of the leaves."""
    draw.note(legal=True)
    p.module.train(draw.chance(0.5))
    candidates = dict(p.module.named_parameters())
    for parameter in candidates.values():
        parameter.requires_grad_(draw.chance(0.7))
    wanted = {name: w for name, w in candidates.items() if w.requires_grad}
    with surroundings(draw, p) as mode:
        if mode == "grad" and draw.chance(0.7):
            wanted |= {"x": p.x.requires_grad_()}
            if p.part is not None:
                p.given = p.x[..., p.part, :]
        if mode == "grad" and p.part is None and p.given is not None and p.given is not p.x:
            wanted |= {"context": p.given.requires_grad_()}
        y = p.call()
    p.holds(y)
    if mode == "grad" and y.requires_grad and draw.chance(0.6):
        p.gradients_hold(y, wanted)


def five_stages(draw: Draw, p: Problem) -> None:
    """The five stages with the same weights, and the fused form of those again."""
    draw.note(legal=True)
    attention = p.module.to_attention()
    with surroundings(draw, p):
        p.holds(p.call(attention), what="y of the five stages")
        again = FusedMultiHeadAttention.from_attention(attention)
        p.holds(p.call(again), what="y of the fused form again")


WAYS: dict[str, tuple[Way, float]] = {
    "plain": (plain, 12),
    "five stages": (five_stages, 3),
    "copies": (copies, 2),
    "functional_call": (functional, 2),
    "changed": (changed, 2),
    "hooks": (hooks, 2),
    "replaced": (replaced, 2),
    "replaced in five stages": (replaced_stage, 1),
    "checkpoint": (checkpointed, 1),
    "checkpoint with dropout": (recomputed_dropout, 0.7),
    "threads": (in_threads, 0.5),
    "defaults": (other_defaults, 1),
    "built elsewhere": (built_elsewhere, 0.3),
    "compile": (compiled, 0.02),
    "dropout": (dropped, 1),
}
