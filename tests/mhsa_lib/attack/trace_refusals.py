"""Where a block may be refused: errors inside, copies, compiled code, threads."""

import pickle
import threading
from contextlib import ExitStack
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import edit, kv_cache, trace
from mhsa_lib.tracing.hooks import changes_nothing
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Finding, Skipped, same
from tests.mhsa_lib.attack.trace_effects import near
from tests.mhsa_lib.attack.trace_watchers import Block, unchanged, watchers


class Planted(Exception):  # noqa: N818
    """Raised by the attack itself."""


def raises(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    kind = draw.one(("in the block", "in the change", "shape", "wire", "call"), "raises")
    contexts = watchers(draw, module, Block(module), x, mask)

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
    inside = draw.one(("trace", "edit", "kv_cache"), "inside")
    context = {"trace": trace, "kv_cache": kv_cache}.get(inside)
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
