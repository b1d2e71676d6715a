"""Traces, edits and caches around each other at random: nothing changes that was not edited.

Results are bit for bit the same, no hook stays behind, an edited wire has the effect that the
definition gives it, and an exception in a block leaves nothing.
"""

import torch
from torch import nn

from tests.mhsa_lib.attack import attentions, rules
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import identical, same
from tests.mhsa_lib.attack.problem import MODES
from tests.mhsa_lib.attack.trace_effects import effect, wires
from tests.mhsa_lib.attack.trace_refusals import compiled, copied, raises, threads
from tests.mhsa_lib.attack.trace_watchers import any_order, nested


def case(draw: Draw) -> None:
    draw.note(legal=True)
    ways = {"nested": 5, "effect": 5, "wires": 2, "raises": 2, "any order": 1}
    ways |= {"copied inside": 0.7, "compiled": 0.02, "threads": 0.05}
    way = draw.random.choices(list(ways), list(ways.values()))[0]
    kinds = ("plain", "grouped", "rotary") if way in ("effect", "wires") else attentions.STAGED
    kind = draw.one(kinds)
    module = attentions.drawn(draw, kind)
    if draw.chance(0.3) and kind != "gated":  # whose gates are drawn in training
        module.train()
    draw.note(way=way)
    batch, n = draw.batch(), draw.length(most=31)
    x = torch.randn(*batch, n, module.d_model, dtype=torch.float64)
    mask = rules.anything(draw, batch, module.n_heads, n, n)
    draw.note(x=tuple(x.shape))
    before = hooks_of(module)
    with MODES[draw.one(("grad", "no_grad", "inference"), "mode")]():
        y = module(x, mask=mask.given)
        WAYS[way](draw, module, x, mask, y)
        same("hooks left behind", hooks_of(module), before)
        identical("y afterwards", module(x, mask=mask.given), y)


def hooks_of(module: nn.Module) -> int:
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(m, name)) for m in module.modules() for name in names)


WAYS = {
    "nested": nested,
    "effect": effect,
    "wires": wires,
    "raises": raises,
    "any order": any_order,
    "copied inside": copied,
    "compiled": compiled,
    "threads": threads,
}
