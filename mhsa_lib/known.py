"""What a conversion accepts: modules it knows, by their classes, and nothing added to them.

A module with the right attributes may compute another function: a subclass with a forward
of its own, a hook, an adapter in place of a map, a router beside it. So every module in a source
has to be of a class that is known at its path, and bare. A subclass is known too if it changes
nothing but how it is made or shown. Hooks that only watch (``trace``) are no reason to refuse.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Wire
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit

Kind = type | str
Kinds = Mapping[str, tuple[Kind, ...]]
"""What may stand at each path of a module, "" for itself: classes, or their full names."""

Hook = TypeVar("Hook", bound=Callable[..., Any])

ATTEND: Kinds = {
    "attend.scores": (Wire,),
    "attend.weights": (Wire,),
    "attend.dropout": (nn.Dropout,),
}
PLAIN: Kinds = {
    "": (MultiHeadAttention, GroupedQueryAttention),
    "project": (Project,),
    "project.W_Q": (nn.Linear,),
    "project.W_K": (nn.Linear,),
    "project.W_V": (nn.Linear,),
    "split": (Split, GroupedSplit),
    "attend": (Attend, GroupedAttend),
    **ATTEND,
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
"""The five stages as they are, with heads of their own or in groups."""

ROTARY: Kinds = {
    **PLAIN,
    "split": (Split, GroupedSplit, RotarySplit),
    "split.rotary": (Rotary,),
    "split.q_norm": (nn.Identity, nn.RMSNorm),
    "split.k_norm": (nn.Identity, nn.RMSNorm),
    "split.q_heads": (Wire,),
    "split.k_heads": (Wire,),
}
"""The same, also with rotary positions."""

_SHOWN = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}
_HOOKS = "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"


def watching(hook: Hook) -> Hook:
    """Mark a hook that only watches: what carries it can be converted all the same.

    >>> def shout(module, args, output):
    ...     print(output.shape)
    >>> mha = MultiHeadAttention(12, 3)
    >>> handle = mha.register_forward_hook(watching(shout))
    >>> plain(mha, "has no fused form", "replace it")
    """
    hook.only_watches = True  # type: ignore[attr-defined]
    return hook


def only(source: Any, kinds: Kinds, why: str, do: str) -> None:
    """Every module in ``source`` is of a kind known at its path, with nothing added to it.

    ``why`` follows the name of what is not, ``do`` is the repair. Raises ``TypeError`` for the
    source itself and ``ValueError`` for a part of it.

    >>> adapted = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> only(adapted, {"": (nn.Sequential,), "0": (nn.Linear,)}, "is not converted", "drop it")
    Traceback (most recent call last):
    ...
    ValueError: 1=Dropout is not converted; nothing is known there: drop it.
    """
    if not any(_is(type(source), kind) for kind in kinds[""]):
        raise TypeError(f"{_named(source)} {why}; only {_names(kinds[''])} has: {do}.")
    modules = dict(source.named_modules(remove_duplicate=False))
    for path, module in modules.items():
        here = kinds.get(path, ())
        if not any(_is(type(module), kind) for kind in here):
            known = f"only {_names(here)} has" if here else "nothing is known there"
            raise ValueError(f"{path}={_named(module)} {why}; {known}: {do}.")
        added = next(_added(module), None)
        if added is not None:
            raise ValueError(f"{path or _named(module)} {added[0]}, which {why}: {added[1]}.")
    _same_everywhere(source, modules)


def plain(attention: Any, why: str, do: str, kinds: Kinds = PLAIN) -> None:
    """Stages that are known, and whose sizes are those that the attention names.

    >>> plain(MultiHeadAttention(12, 3, split=Split(4)), "has no fused form", "replace it")
    Traceback (most recent call last):
    ...
    ValueError: split cuts 12 columns into n_heads=4, but the attention has n_heads=3 of ...
    """
    only(attention, kinds, why, do)
    split, project = attention.split, attention.project
    n_kv_heads = getattr(split, "n_kv_heads", split.n_heads)
    widths = [W.out_features for W in (project.W_Q, project.W_K, project.W_V)]
    wanted = [n * attention.d_head for n in (attention.n_heads, n_kv_heads, n_kv_heads)]
    fits = [*widths, attention.W_O.in_features] == [*wanted, wanted[0]]
    if split.n_heads != attention.n_heads or not fits:
        raise ValueError(
            f"split cuts {widths[0]} columns into n_heads={split.n_heads}, but the attention "
            f"has n_heads={attention.n_heads} of d_head={attention.d_head}; make the stages "
            f"for the same heads."
        )


def copy(to: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    """Fill a map; what is frozen stays frozen, and a missing bias is one of zeros.

    >>> W = nn.Linear(2, 2)
    >>> copy(W, torch.eye(2).requires_grad_(), None)
    >>> W(torch.ones(2)).tolist(), W.weight.requires_grad, W.bias.requires_grad
    ([1.0, 1.0], True, False)
    """
    with torch.no_grad():
        to.weight.copy_(weight)
        to.weight.requires_grad_(weight.requires_grad)
        if to.bias is not None:
            to.bias.copy_(torch.zeros_like(to.bias) if bias is None else bias)
            to.bias.requires_grad_(bias is not None and bias.requires_grad)


def _added(module: nn.Module) -> Iterator[tuple[str, str]]:
    """What was done to a module after its class was written: what, and the repair."""
    if nn.utils.parametrize.is_parametrized(module):
        yield "is parametrized", "call torch.nn.utils.parametrize.remove_parametrizations"
    for name in vars(module):
        if callable(getattr(type(module), name, None)):
            yield f"has a {name} of its own", f"delete that attribute, del module.{name}"
    for kind in _HOOKS:
        for hook in (getattr(module, kind) or {}).values():
            if not getattr(hook, "only_watches", False):
                yield f"has a hook, {_named(hook)}", "convert without it, and hook the result"
    for name, value in module._parameters.items():
        if value is not None and type(value) not in (nn.Parameter, Tensor):
            yield f"has a {_named(value)} as {name}", "pass an attention that is whole"
    if isinstance(module, nn.Linear) and module._parameters.get("weight") is None:
        yield "computes its weight", "fold it into a plain Linear first"


def _same_everywhere(source: nn.Module, modules: Mapping[str, nn.Module]) -> None:
    """One dtype and device, and dropout in the mode of the whole."""
    kinds = {(p.dtype, p.device) for p in source.parameters()}
    if len(kinds) > 1:
        found = ", ".join(sorted(f"{dtype} on {device}" for dtype, device in kinds))
        raise ValueError(f"parameters are {found}; move them to one dtype and device first.")
    for path, module in modules.items():
        other_mode = module.training is not source.training
        if other_mode and isinstance(module, nn.Dropout) and module.p:
            raise ValueError(
                f"{path} is in another mode than the attention; call train() or eval() on the "
                f"whole."
            )


def _is(cls: type, kind: Kind) -> bool:
    """Whether a class is of a kind, or a subclass that only makes or shows itself otherwise."""
    for base in cls.__mro__:
        if base is kind or f"{base.__module__}.{base.__qualname__}" == kind:
            return True
        if any(not (n in _SHOWN or _is_plain(n, v)) for n, v in vars(base).items()):
            return False
    return False


def _is_plain(name: str, value: Any) -> bool:
    """An entry of a class that says something and does nothing."""
    return name.startswith("__") and not callable(value)


def _names(kinds: tuple[Kind, ...]) -> str:
    names = [kind if isinstance(kind, str) else kind.__name__ for kind in kinds]
    return " or ".join(name.rpartition(".")[2] for name in names)


def _named(thing: Any) -> str:
    return getattr(thing, "__qualname__", type(thing).__name__)
