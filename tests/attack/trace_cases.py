"""Traces, edits and caches around each other at random: nothing changes that was not edited.

Results are bit for bit the same, no hook stays behind, an edited wire has the effect that the
definition gives it, and an exception in a block leaves nothing.
"""

import pickle
import threading
from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import edit, remember, trace, trace_ops
from mhsa_lib.rope.rotary_split import RotarySplit
from mhsa_lib.stages import stages_of
from mhsa_lib.trace.hooks import changes_nothing
from tests.attack import attentions, oracle, rules
from tests.attack.definitions import five
from tests.attack.draw import Draw
from tests.attack.outcome import Finding, Skipped, close, identical, same
from tests.attack.problem import MODES, library

Change = Callable[[Tensor], Tensor]


class Block(nn.Module):
    """An attention inside of something larger."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.norm, self.attention = nn.Identity(), attention

    def forward(self, x: Tensor, context: Any = None, mask: Any = None) -> Tensor:
        return self.attention(self.norm(x), context, mask)


def case(draw: Draw) -> None:
    draw.note(legal=True)
    ways = {"nested": 5, "effect": 5, "wires": 2, "raises": 2, "any order": 1}
    ways |= {"copied inside": 0.7, "compiled": 0.02, "threads": 0.05}
    way = draw.random.choices(list(ways), list(ways.values()))[0]
    kinds = ("plain", "grouped", "rotary") if way in ("effect", "wires") else attentions.STAGED
    module = attentions.drawn(draw, draw.one(kinds))
    if draw.chance(0.3):
        module.train()
    draw.note(way=way)
    batch, n = draw.batch(), draw.length(most=31)
    x = torch.randn(*batch, n, module.d_model, dtype=torch.float64)
    mask = rules.anything(draw, batch, module.n_heads, n, n)
    draw.note(x=tuple(x.shape))
    before = hooks_of(module)
    with library(draw), MODES[draw.one(("grad", "no_grad", "inference"), "mode")]():
        y = module(x, mask=mask.given)
        WAYS[way](draw, module, x, mask, y)
        same("hooks left behind", hooks_of(module), before)
        identical("y afterwards", module(x, mask=mask.given), y)


def hooks_of(module: nn.Module) -> int:
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(m, name)) for m in module.modules() for name in names)


def watchers(draw: Draw, module: nn.Module, model: nn.Module) -> list[Any]:
    """Contexts that change nothing."""
    wires = [wire for stage in stages_of(module).values() for wire in stage.wires]
    found, remembers = [], draw.chance(0.3)
    for _ in range(draw.whole(1, 4)):
        of = draw.one((module, model))
        # not even a copy: other strides make matmul choose another order of its sum
        found.append(trace(of) if draw.chance(0.5) else edit(of, draw.one(wires), lambda t: t))
    if remembers:
        found.insert(draw.whole(0, len(found)), remember(draw.one((module, model))))
    return found


def unchanged(found: Tensor, y: Tensor) -> None:
    """Bit for bit; in inference mode PyTorch adds in another order while it is watched."""
    if not torch.is_inference_mode_enabled():
        identical("y inside", found, y)
        return
    # Sums of at most some hundred terms, each rounded: √n · eps, with room for their size.
    room = 64 * torch.finfo(y.dtype).eps * max(1.0, _largest(y))
    if found.shape != y.shape or _largest(found - y) > room:
        raise Finding(f"y inside: off by {_largest(found - y):.1g} while it is watched")


def _largest(values: Tensor) -> float:
    return max(values.nan_to_num(0.0).abs().flatten().tolist(), default=0.0)


def nested(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    model = Block(module)
    contexts = watchers(draw, module, model)
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        unchanged(draw.one((module, model))(x, mask=mask.given), y)
        if draw.chance(0.2):
            trace_ops(nn.Linear(2, 3), torch.ones(2))


def any_order(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """Blocks that end in another order than they began, as generators and notebooks do."""
    contexts = watchers(draw, module, Block(module))
    for context in contexts:
        context.__enter__()
    draw.random.shuffle(contexts)
    try:
        unchanged(module(x, mask=mask.given), y)
    finally:
        while contexts:
            contexts.pop().__exit__(None, None, None)


CHANGES: dict[str, Change] = {
    "zeros": torch.zeros_like,
    "doubled": lambda t: 2 * t,
    "turned": lambda t: t.flip(-1),
    "shifted": lambda t: t + 0.25,
    "cut": lambda t: t * (torch.arange(t.shape[-1]) % 2),
}


def effect(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """Edited wires, one or several, against the definition with these values replaced."""
    names = [
        "q",
        "k",
        "v",
        "q_heads",
        "k_heads",
        "v_heads",
        "scores",
        "weights",
        "z",
        "concat",
        "y",
    ]
    edits = [(draw.one(names), draw.one(tuple(CHANGES))) for _ in range(draw.whole(1, 3))]
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
    found.table(), found.sizes, found._repr_html_()
    same("wires", set(of) <= set(found) | {"q_heads", "k_heads"}, True)


def defined(module: Any, x: Tensor, mask: Any, tap: Any) -> tuple[Tensor, dict[str, Tensor]]:
    seen: dict[str, Tensor] = {}
    base = module.split.rotary.base if isinstance(module.split, RotarySplit) else None
    W, position = five(module), torch.arange(x.shape[-2])

    def then(name: str, value: Tensor) -> Tensor:
        from tests.attack.definitions import turned

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


class Planted(Exception):  # noqa: N818
    """Raised by the attack itself."""


def raises(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    kind = draw.one(("in the block", "in the change", "shape", "wire", "call"), "raises")
    contexts = watchers(draw, module, Block(module))

    def wrong(t: Tensor) -> Tensor:
        if kind == "in the change":
            raise Planted
        return t[..., :0] if t.shape[-1] else t[..., None]

    try:
        with ExitStack() as stack:
            for context in contexts:
                stack.enter_context(context)
            if kind in ("shape", "in the change"):
                stack.enter_context(edit(module, draw.one(("scores", "z", "concat")), wrong))
            elif kind == "wire":
                stack.enter_context(edit(module, "no such wire", wrong))
            elif kind == "in the block":
                raise Planted
            elif kind == "call":
                module(torch.zeros(2, module.d_model + 1, dtype=x.dtype))
            module(x, mask=mask.given)
    except Planted:
        return
    except (ValueError, KeyError, TypeError) as error:
        if kind in ("shape", "wire", "call") and len(str(error)) >= 20:
            return
        raise
    raise Finding(f"no error came of: {kind}")


def copied(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """A copy made in a block is a plain attention, or none is made."""
    how = draw.one(("deepcopy", "pickle"), "copy")
    inside = draw.one(("trace", "edit", "remember"), "inside")
    context = {"trace": trace, "remember": remember}.get(inside)
    draw.note(legal=False)
    with context(module) if context else edit(module, "z", torch.zeros_like):
        if how == "deepcopy":
            copy = deepcopy(module)
        else:
            try:
                copy = pickle.loads(pickle.dumps(module))
            except Exception as error:
                raise Skipped("a hook that cannot be pickled says so") from error
    kept = [hook for m in copy.modules() for hook in m._forward_hooks.values()]
    kept += [hook for m in copy.modules() for hook in m._forward_pre_hooks.values()]
    same("hooks of the copy act", [hook for hook in kept if not changes_nothing(hook)], [])
    unchanged(copy(x, mask=mask.given), y)


def compiled(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """An edit acts on a compiled attention, or is refused."""
    torch._dynamo.reset()
    draw.note(legal=False)
    module.eval()
    module_c = torch.compile(module, backend="eager")
    if draw.chance(0.5):
        module_c(x, mask=mask.given)
    try:
        with edit(module_c, "concat", torch.zeros_like):
            found = module_c(x, mask=mask.given)
    except ValueError as error:
        if len(str(error)) < 20:
            raise
        return
    b = module.W_O.bias
    near("y", found, (torch.zeros_like(y) if b is None else b.expand(y.shape)).detach())


def threads(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """Each thread traces its own pass, or the second is refused."""
    problems: list[BaseException] = []

    def work(i: int) -> None:
        mine = torch.randn(i + 2, module.d_model, dtype=x.dtype)
        try:
            for _ in range(5):
                with trace(module) as seen:
                    module(mine)
                same("tokens of my own trace", seen["concat"].shape[-2], i + 2)
        except ValueError as error:
            if len(str(error)) < 20:
                problems.append(error)
        except BaseException as error:
            problems.append(error)

    running = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if problems:
        raise Finding(f"threads: {type(problems[0]).__name__}: {problems[0]}")


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
