"""Contexts that change nothing, nested in any order: results are bit for bit the same."""

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import edit, kv_cache, trace, trace_ops
from mhsa_lib.stages import stages_of
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Finding, identical


class Block(nn.Module):
    """An attention inside of something larger."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.norm, self.attention = nn.Identity(), attention

    def forward(self, x: Tensor, context: Any = None, mask: Any = None) -> Tensor:
        return self.attention(self.norm(x), context, mask)


def watchers(
    draw: Draw, module: nn.Module, model: nn.Module, x: Tensor, mask: Any
) -> list[Any]:
    """Contexts that change nothing; a cache is among them only where it may be.

    Several tokens without a mask would see their future in a cache, which refuses them.
    """
    cached = mask.given is not None or x.shape[-2] == 1
    wires = [wire for stage in stages_of(module).values() for wire in stage.wires]
    found, remembers = [], draw.chance(0.3) and cached
    for _ in range(draw.whole(1, 4)):
        of = draw.one((module, model))
        # not even a copy: other strides make matmul choose another order of its sum
        found.append(trace(of) if draw.chance(0.5) else edit(of, draw.one(wires), lambda t: t))
    if remembers:
        found.insert(draw.whole(0, len(found)), kv_cache(draw.one((module, model))))
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
    contexts = watchers(draw, module, model, x, mask)
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        unchanged(draw.one((module, model))(x, mask=mask.given), y)
        if draw.chance(0.2):
            trace_ops(nn.Linear(2, 3), torch.ones(2))


def any_order(draw: Draw, module: Any, x: Tensor, mask: Any, y: Tensor) -> None:
    """Blocks that end in another order than they began, as generators and notebooks do."""
    contexts = watchers(draw, module, Block(module), x, mask)
    for context in contexts:
        context.__enter__()
    draw.random.shuffle(contexts)
    try:
        unchanged(module(x, mask=mask.given), y)
    finally:
        while contexts:
            contexts.pop().__exit__(None, None, None)
