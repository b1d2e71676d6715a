"""What is traced, and what edits do, against the definition with these values replaced."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import edit, trace
from mhsa_lib.rope.rotary import RotarySplit
from tests.mhsa_lib.attack import oracle
from tests.mhsa_lib.attack.definitions import five, turned
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import close, same
from tests.mhsa_lib.tracing.names import NAMES

Change = Callable[[Tensor], Tensor]

CHANGES: dict[str, Change] = {
    "zeros": torch.zeros_like,
    "doubled": lambda t: 2 * t,
    "turned": lambda t: t.flip(-1),
    "shifted": lambda t: t + 0.25,
    "cut": lambda t: t * (torch.arange(t.shape[-1]) % 2),
}


def effect(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """Edited wires, one or several, against the definition with these values replaced."""
    edits = [(draw.one(NAMES), draw.one(tuple(CHANGES))) for _ in range(draw.whole(1, 3))]
    draw.note(edits=edits)
    with ExitStack() as stack:
        for wire, change in edits:
            stack.enter_context(edit(module, wire, CHANGES[change]))
        wires = stack.enter_context(trace(module)) if draw.chance(0.4) else None
        found = module(x, mask=mask.given)

    def tap(name: str, value: Tensor) -> Tensor:
        for wire, change in reversed(edits):  # the inner one acts first
            value = CHANGES[change](value) if wire == name else value
        return value

    expected, of = defined(module, x, mask, tap)
    near("y", found, expected)
    for name in wires or {}:
        if name in of:
            near(f"wire {name}", wires[name], of[name])


def wires(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """The named values of one pass, of the last pass in the block."""
    with trace(module) as found:
        for _ in range(draw.whole(0, 2)):
            module(torch.randn(3, module.d_model, dtype=x.dtype))
        module(x, mask=mask.given)
    _, of = defined(module, x, mask, oracle.untouched)
    for name in found:
        if name in of:
            near(f"wire {name}", found[name], of[name])
    repr(found), found.sizes, found._repr_html_()
    same("wires", set(of) <= set(found) | {"q_heads", "k_heads"}, True)


def defined(module: Any, x: Tensor, mask: Any, tap: Any) -> tuple[Tensor, dict[str, Tensor]]:
    seen: dict[str, Tensor] = {}
    base = module.split.rotary.base if isinstance(module.split, RotarySplit) else None
    W, position = five(module), torch.arange(x.shape[-2])

    def then(name: str, value: Tensor) -> Tensor:
        seen[name] = value = tap(name, value)
        if base is not None and name in ("q_heads", "k_heads"):
            value = turned(value, position, base)
        return value

    sizes = module.n_heads, W["K"].shape[0] // module.d_head, module.attend.scale
    allowed = mask.dense(x.shape[-2], x.shape[-2])
    return oracle.whole(x, x, allowed, W, *sizes, then), seen


def near(what: str, found: Tensor, expected: Tensor) -> None:
    size = 1 + (expected.abs().amax().item() if expected.numel() else 0)
    close(what, found, expected, 1e-9 * size)
