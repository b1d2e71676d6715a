"""Ways to change a part of one fused attention: hooks, adapters, parametrizations."""

import torch
from torch import nn
from torch.nn.utils import parametrize

from tests.mhsa_lib.attack.adapted import Adapted, Doubled
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Skipped
from tests.mhsa_lib.attack.problem import Problem, apart, surroundings, weights


def hooks(draw: Draw, p: Problem) -> None:
    """A hook on a part acts, or is refused."""
    part = draw.one(("W_QKV", "W_O", ""), "part")
    factor = draw.one((0.0, 2.0, -1.0))
    before = draw.chance(0.3)
    target = p.module.get_submodule(part)
    if before and part:
        target.register_forward_pre_hook(lambda m, args: (args[0] * factor,))
    else:
        target.register_forward_hook(lambda m, args, out: out * factor)
    draw.note(hook=f"{'before' if before and part else 'after'}, times {factor}")
    W = weights(p.module)
    acts = {"W_QKV": ["Q", "K", "V"], "W_O": ["O"], "": ["O"]}[part]
    acts = acts if before and part else [*acts, *(f"b{name}" for name in acts)]
    W = {name: value * factor if name in acts else value for name, value in W.items()}
    with surroundings(draw, p):
        p.holds(p.call(), W)


def replaced(draw: Draw, p: Problem) -> None:
    """A part that is adapted or parametrized acts, or is refused."""
    part = draw.one(("W_QKV", "W_O"), "part")
    how = draw.one(
        ("adapter", "quiet adapter", "parametrized", "weight_norm", "old norm"), "how"
    )
    own, target = p.module, p.module.get_submodule(part)
    true = dict(own.named_parameters())
    effective = target.weight.detach().clone()
    if "adapter" in how:
        adapted = Adapted(target, how == "adapter")
        effective = effective + adapted.beside.weight.detach()
        setattr(own, part, adapted)
    elif how == "parametrized":
        parametrize.register_parametrization(target, "weight", Doubled())
        effective = 2 * effective
    elif how == "weight_norm":
        nn.utils.parametrizations.weight_norm(target)
        if not target.weight.isfinite().all():
            raise Skipped("half precision cannot hold the norm that weight_norm divides by")
    else:
        with torch.no_grad():
            nn.utils.weight_norm(target)
            target.weight_g *= 2  # the weight of the module is old until it is called
        effective = 2 * effective
    W = apart(own, true | {f"{part}.weight": effective})
    with surroundings(draw, p):
        p.holds(p.call(), W)


def replaced_stage(draw: Draw, p: Problem) -> None:
    """Adapters and quantized maps in the five stages act, or are refused."""
    attention = p.module.to_attention()
    name = draw.one(("W_Q", "W_K", "W_V", "W_O"), "part")
    owner = attention if name == "W_O" else attention.project
    adapted = Adapted(getattr(owner, name), draw.one((True, False), "exposes weight"))
    W = weights(p.module)
    W[name[-1]] = W[name[-1]] + adapted.beside.weight.detach().double()
    setattr(owner, name, adapted)
    with surroundings(draw, p):
        p.holds(p.call(attention), W)
