"""What converts from another library, what it answers by itself, and attention of PyTorch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import convert
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.problem import fill


@dataclass
class Source:
    """``truth(x)`` is its own answer; ``convert`` makes ours, which is called with ``mask``.

    ``eps`` is the rounding of its arithmetic: some compute in float32 whatever they are given.
    """

    name: str
    module: nn.Module
    d_model: int
    truth: Callable[[Tensor], Tensor]
    convert: Callable[[], Any]
    mask: Any = None
    eps: float = 1e-9


def of_torch(draw: Draw) -> Source:
    n_heads, d_head = draw.whole(1, 4), draw.one((1, 2, 3, 5))
    d_model = n_heads * d_head
    options = {
        "bias": draw.chance(0.6),
        "dropout": draw.one((0.0, 0.0, 0.3)),
        "batch_first": draw.chance(0.7),
    }
    if draw.chance(0.15):
        options |= draw.one(
            (
                {"add_bias_kv": True},
                {"add_zero_attn": True},
                {"kdim": 3},
                {"vdim": 5},
                {"kdim": d_model, "vdim": d_model},
            )
        )
    kind: Any = nn.MultiheadAttention
    if draw.chance(0.1) and set(options) == {"bias", "dropout", "batch_first"}:
        kind = torch.ao.nn.quantizable.MultiheadAttention
    module = kind(d_model, n_heads, **options).double().eval()
    draw.note(options=options, sizes=(d_model, n_heads))
    fill(module)

    def truth(x: Tensor) -> Tensor:
        if not module.batch_first:
            return module(x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1))[0].transpose(
                0, 1
            )
        return module(x, x, x, need_weights=bool(x.shape[1] % 2))[0]

    return Source(
        f"torch {kind.__module__}", module, d_model, truth, lambda: convert.from_torch(module)
    )
