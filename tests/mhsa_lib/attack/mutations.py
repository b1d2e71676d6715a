"""What people do to a module before they convert it: hooks, adapters, other parts, other modes.

A mutation changes the module in place and says in words what it did. The module's own output
stays the truth, whatever was done to it.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from tests.mhsa_lib.attack.adapted import Adapted, Doubled
from tests.mhsa_lib.attack.draw import Draw

Mutation = Callable[[Draw, nn.Module], str]


def linears(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Every map with a matrix, by path; not what was wrapped already."""
    return [
        (path, m)
        for path, m in module.named_modules()
        if path and isinstance(getattr(m, "weight", None), nn.Parameter) and m.weight.ndim == 2
    ]


def some_linear(draw: Draw, module: nn.Module) -> tuple[str, Any]:
    return draw.one(linears(module))


def put(module: nn.Module, path: str, new: nn.Module) -> None:
    parent, _, name = path.rpartition(".")
    setattr(module.get_submodule(parent), name, new)


def hooked(draw: Draw, module: nn.Module) -> str:
    path = draw.one([p for p, _ in module.named_modules()])
    target = module.get_submodule(path)

    def double(m: Any, args: Any, out: Any) -> Any:
        if isinstance(out, tuple):
            return tuple(2 * t if isinstance(t, torch.Tensor) else t for t in out)
        return 2 * out

    target.register_forward_hook(double)
    return f"a forward hook doubles {path or 'the output'}"


def subclassed(draw: Draw, module: nn.Module) -> str:
    path = draw.one(["", *(p for p, _ in linears(module))])
    target: Any = module.get_submodule(path)
    base = type(target)

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = base.forward(self, *args, **kwargs)
        return (2 * out[0], *out[1:]) if isinstance(out, tuple) else 2 * out

    name = base.__name__ if draw.chance(0.5) else "Mine"
    target.__class__ = type(name, (base,), {"forward": forward})
    return f"a subclass {name} doubles {path or 'the output'}"


def patched(draw: Draw, module: nn.Module) -> str:
    path = draw.one(["", *(p for p, _ in linears(module))])
    target: Any = module.get_submodule(path)
    original = target.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        out = original(*args, **kwargs)
        return (2 * out[0], *out[1:]) if isinstance(out, tuple) else 2 * out

    target.forward = forward
    return f"forward of {path or 'the module'} replaced on the instance"


def adapted(draw: Draw, module: nn.Module) -> str:
    candidates = [(p, m) for p, m in linears(module) if isinstance(m, nn.Linear)]
    if not candidates:
        return "nothing"
    path, linear = draw.one(candidates)
    exposes = draw.chance(0.6)
    put(module, path, Adapted(linear, exposes))
    return f"an adapter on {path}, {'with' if exposes else 'without'} .weight"


def in_sequence(draw: Draw, module: nn.Module) -> str:
    path, linear = some_linear(draw, module)
    put(module, path, nn.Sequential(linear, nn.Tanh()))
    return f"tanh after {path}"


def unbiased(draw: Draw, module: nn.Module) -> str:
    path, linear = some_linear(draw, module)
    if getattr(linear, "bias", None) is None or not isinstance(linear, nn.Linear):
        return "nothing"
    linear.bias = None
    return f"no bias in {path}"


def biased(draw: Draw, module: nn.Module) -> str:
    path, linear = some_linear(draw, module)
    if not isinstance(linear, nn.Linear) or linear.bias is not None:
        return "nothing"
    linear.bias = nn.Parameter(torch.randn(linear.out_features).to(linear.weight))
    return f"a bias in {path}"


def parametrized(draw: Draw, module: nn.Module) -> str:
    path, linear = some_linear(draw, module)
    if draw.chance(0.5):
        parametrize.register_parametrization(linear, "weight", Doubled())
        return f"{path}.weight parametrized"
    with torch.no_grad():
        nn.utils.weight_norm(linear)
        linear.weight_g *= 2
    return f"old weight_norm on {path}"


def tied(draw: Draw, module: nn.Module) -> str:
    same = [(p, m) for p, m in linears(module) if isinstance(m, nn.Linear)]
    pairs = [
        (a, b)
        for a in same
        for b in same
        if a[0] < b[0] and a[1].weight.shape == b[1].weight.shape
    ]
    if not pairs:
        return "nothing"
    (one, a), (other, b) = draw.one(pairs)
    b.weight = a.weight
    return f"{other}.weight is {one}.weight"


def extra_child(draw: Draw, module: nn.Module) -> str:
    module.extra = nn.Linear(2, 2)
    return "a child that nothing uses"


def extra_parameter(draw: Draw, module: nn.Module) -> str:
    module.extra = nn.Parameter(torch.ones(2))
    return "a parameter that nothing uses"


def frozen(draw: Draw, module: nn.Module) -> str:
    every = draw.chance(0.5)
    for parameter in module.parameters():
        if every or draw.chance(0.5):
            parameter.requires_grad_(False)
    return "frozen" if every else "partly frozen"


def training(draw: Draw, module: nn.Module) -> str:
    module.train()
    for m in module.modules():
        for name in ("p",) if isinstance(m, nn.Dropout) else ("dropout", "attention_dropout"):
            if isinstance(getattr(m, name, None), float):
                setattr(m, name, 0.0)
    return "in training mode"


def part_in_evaluation(draw: Draw, module: nn.Module) -> str:
    module.train()
    for m in module.modules():
        if isinstance(m, nn.Dropout):
            m.p = 0.5
            m.eval()
    return "training, its dropout in evaluation"


def halved(draw: Draw, module: nn.Module) -> str:
    module.bfloat16()
    return "in bfloat16"


def other_scale(draw: Draw, module: nn.Module) -> str:
    for path in ("attend.scale", "scaling", "scale", "attention.attend.scale", "self.scaling"):
        parent, _, name = path.rpartition(".")
        owner: Any = module
        for part in parent.split(".") if parent else ():
            owner = getattr(owner, part, None)
        if owner is not None and isinstance(getattr(owner, name, None), float):
            setattr(owner, name, 3 * getattr(owner, name))
            return f"{path} times 3"
    return "nothing"


def other_scores(draw: Draw, module: Any) -> str:
    attend = getattr(module, "attend", None)
    if attend is None:
        return "nothing"
    name = draw.one(("scores", "weights", "dropout"))
    setattr(attend, name, nn.Sequential(getattr(attend, name), Half()))
    return f"attend.{name} replaced"


class Half(nn.Module):
    def forward(self, t):
        return t / 2


def nothing(draw: Draw, module: nn.Module) -> str:
    return "nothing"


MUTATIONS: tuple[Mutation, ...] = (
    *(nothing, nothing, hooked, subclassed, patched, adapted, in_sequence, unbiased, biased),
    *(parametrized, tied, extra_child, extra_parameter, frozen, training, part_in_evaluation),
    *(halved, other_scale, other_scores),
)
