"""One forward pass with every number on record: all wires, and where each number came from.

A number comes from those whose change would change it: its gradient with respect to them, with
every wire cut from what lies before it, is not zero. So it works for any attention made of
stages, without knowing what its stages do.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, shapes
from mhsa_lib.stages import Stage, Wire, stages_of
from mhsa_lib.tracing.find import find_attentions
from mhsa_lib.tracing.hooks import Hooks

TINY = 1e-3
"""How far inputs are moved while looking for parents, so that none is zero by chance."""


@dataclass
class Provenance:
    """``inputs`` and ``wires`` by name, ``axes`` of both; ``parents`` of every number.

    A matrix of an ``nn.Linear`` stands as in the formula, (in, out). ``parents[wire]`` lists
    for each number of the wire, in row-major order, places such as ("q", 0, 1). ``steps`` are
    the stages in order: a name, its wires, and the first line of its docstring.
    """

    inputs: dict[str, Tensor] = field(default_factory=dict)
    wires: dict[str, Tensor] = field(default_factory=dict)
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parents: dict[str, list[list[tuple[Any, ...]]]] = field(default_factory=dict)
    steps: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)


def provenance_of(model: nn.Module, x: Tensor, mask: Any = None) -> Provenance:
    """Everything one pass over ``x`` (seq, d_model) computes, in float64.

    Raises ``ValueError`` for a model without an attention of ours, or with several, and for an
    x with leading axes.

    >>> from mhsa_lib import MultiHeadAttention
    >>> provenance = provenance_of(MultiHeadAttention(4, 2), torch.randn(2, 4))
    >>> list(provenance.inputs), list(provenance.wires)[:3]
    (['x', 'W_Q', 'W_K', 'W_V', 'W_O'], ['q', 'k', 'v'])
    >>> provenance.parents["q_heads"][0]
    [('q', 0, 0)]
    """
    attentions: dict[str, Any] = find_attentions(model)
    (path, attention), *others = attentions.items()
    if others:
        raise ValueError(
            f"{type(model).__name__} holds the attentions {checks.few([*attentions])}; record "
            f"one of them, provenance_of(model.get_submodule({path!r}), x)."
        )
    checks.tokens("x", x, attention.d_model)
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}; record one sequence, (seq, d_model).")
    provenance = Provenance()
    with torch.inference_mode(False), torch.enable_grad():  # parents are found by gradients
        exact, x = deepcopy(attention).double().eval(), x.detach().clone().double()
        with torch.no_grad():
            _run(exact, x, mask, provenance)
            _nudge(exact)
        provenance.parents = _parents(exact, x + TINY * _noise(x), mask, provenance)
    return provenance


def _run(attention: nn.Module, x: Tensor, mask: Any, provenance: Provenance) -> None:
    """The numbers: inputs, wires, axes and steps."""
    provenance.inputs["x"] = x
    provenance.axes["x"] = ("query", "d_model")
    for name, owner, parameter in _parameters(attention):
        value = (
            parameter.T if isinstance(owner, nn.Linear) and parameter.ndim == 2 else parameter
        )
        provenance.inputs[name] = value.detach().clone()
        provenance.axes[name] = tuple("" for _ in value.shape)

    def keep(stage: Stage, args: tuple[Any, ...], output: Any) -> None:
        for wire, value in stage.named(output).items():
            provenance.wires[wire] = value.detach().clone()
            provenance.axes[wire] = shapes.axes(stage.wires[wire])[1:]
        title, says = about[stage]
        provenance.steps.append((title, tuple(stage.wires), says))

    about = {
        stage: (_title(stage, path), _says(attention, path, stage))
        for path, stage in stages_of(attention).items()
        if stage.wires
    }
    _with_hooks(attention, keep, x, mask)


def _with_hooks(attention: nn.Module, act: Callable[..., Any], x: Tensor, mask: Any) -> None:
    """One pass in which ``act`` sees the outputs of every stage, and may replace them."""
    with Hooks(attention) as hooks:
        for stage in stages_of(attention).values():
            if stage.wires:
                hooks.after(stage, act)
        attention(x, mask=mask)


def _parents(
    attention: nn.Module, x: Tensor, mask: Any, provenance: Provenance
) -> dict[str, list[list[tuple[Any, ...]]]]:
    """Run once more with every wire cut from its past, and ask each number for its gradient."""
    leaves = {"x": x.clone().requires_grad_()}
    turned: dict[str, bool] = {}
    for name, owner, parameter in _parameters(attention):
        leaves[name] = parameter.requires_grad_()
        turned[name] = isinstance(owner, nn.Linear) and parameter.ndim == 2
    made: dict[str, tuple[Tensor, list[str]]] = {}

    def cut(stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        before, fresh = list(leaves), []
        for wire, value in stage.named(output).items():
            made[wire] = value, before
            leaves[wire] = value.detach().requires_grad_()
            fresh.append(leaves[wire])
        return tuple(fresh) if isinstance(output, tuple) else fresh[0]

    _with_hooks(attention, cut, leaves["x"], mask)
    return {
        wire: [_reached(number, leaves, before, turned) for number in value.flatten()]
        for wire, (value, before) in made.items()
    }


def _reached(
    number: Tensor, leaves: dict[str, Tensor], before: list[str], turned: dict[str, bool]
) -> list[tuple[Any, ...]]:
    if not number.requires_grad:
        return []
    gradients = torch.autograd.grad(
        number, [leaves[name] for name in before], retain_graph=True, allow_unused=True
    )
    found: list[tuple[Any, ...]] = []
    for name, gradient in zip(before, gradients, strict=True):
        if gradient is not None:
            gradient = gradient.T if turned.get(name) else gradient
            found += [(name, *place) for place in gradient.nonzero().tolist()]
    return found


def _parameters(attention: nn.Module) -> list[tuple[str, nn.Module, Tensor]]:
    """Name, owner and value of every parameter: W_Q, and W_Q.bias for its bias.

    A name is the end of the parameter's path, as short as tells it from the others.
    """
    paths = [path.removesuffix(".weight") for path, _ in attention.named_parameters()]
    owners = [
        (owner, parameter)
        for owner in attention.modules()
        for parameter in owner.parameters(recurse=False)
    ]
    return [(_short(path, paths), *owned) for path, owned in zip(paths, owners, strict=True)]


def _short(path: str, paths: list[str]) -> str:
    """The last parts of a path that no other ends in; a bias keeps the name of its map.

    >>> _short("pre.W_1", ["W_Q", "pre.W_1", "post.W_1"])
    'pre.W_1'
    """
    parts = path.split(".")
    for n in range(1 + parts[-1].startswith("bias"), len(parts)):
        end = ".".join(parts[-n:])
        if [other for other in paths if f".{other}".endswith(f".{end}")] == [path]:
            return end
    return path


def _title(stage: Stage, path: str) -> str:
    if isinstance(stage, Wire):
        return next(iter(stage.wires))
    return path.rpartition(".")[2] or "W_O"


def _says(attention: nn.Module, path: str, stage: Stage) -> str:
    """The first line of the docstring of a stage; a named value has that of its owner."""
    owner = (
        attention.get_submodule(path.rpartition(".")[0]) if isinstance(stage, Wire) else stage
    )
    if owner is attention:
        return "The last matrix mixes the columns of all heads into the output."
    first, *_ = (type(owner).__doc__ or "").strip().splitlines() or [type(owner).__name__]
    return first.replace("``", "")


def _nudge(attention: nn.Module) -> None:
    for parameter in attention.parameters():
        parameter.add_(TINY * _noise(parameter))


def _noise(like: Tensor) -> Tensor:
    options: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}
    return torch.randn(
        like.shape, generator=torch.Generator("cpu").manual_seed(0), **options
    ).to(like.device)
