"""Weights copied into a new module, and the check that comes before: is the old one known?

An attention of ours that is rewritten (fused, sharded, pruned) is read by the names of its
parameters. The copy computes the same only if every module in the source is of a class whose
``forward`` we know, and nothing was added to it afterwards: a hook, a parametrization, a method
of its own. Hooks that only watch (``trace``) are no reason to refuse.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from inspect import isfunction, ismethod
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Stage, Wire, maps_of
from mhsa_lib.tracing.hooks import changes_nothing
from mhsa_lib.variants.gated import HardConcrete
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit
from mhsa_lib.variants.latent import LatentAttention, LatentProject, LatentSplit

Module = TypeVar("Module", bound=nn.Module)
Classes = dict[str, tuple[type, ...]]
"""Which classes are allowed at each path of a module, "" for itself.

Where it is (), anything is allowed, and so are the modules inside.
"""

_ATTEND: Classes = {
    "attend.scores": (Wire,),
    "attend.weights": (Wire,),
    "attend.dropout": (nn.Dropout,),
}
STANDARD: Classes = {
    "": (MultiHeadAttention, GroupedQueryAttention),
    "project": (Project,),
    "project.W_Q": (nn.Linear,),
    "project.W_K": (nn.Linear,),
    "project.W_V": (nn.Linear,),
    "split": (Split, GroupedSplit),
    "attend": (Attend, GroupedAttend),
    **_ATTEND,
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
"""The five stages as they are, every head with keys and values of its own or in groups."""
UNSHARED: Classes = {
    **STANDARD,
    "": (MultiHeadAttention,),
    "split": (Split,),
    "attend": (Attend,),
}
_NORMS = nn.Identity, nn.RMSNorm, nn.LayerNorm
ROTARY: Classes = {
    **STANDARD,
    "split": (Split, GroupedSplit, RotarySplit),
    "split.rotary": (Rotary,),
    **dict.fromkeys(("split.q_norm", "split.k_norm"), _NORMS),
    **dict.fromkeys(("split.q_heads", "split.k_heads"), (Wire,)),
}
LATENT: Classes = {
    "": (LatentAttention,),
    "project": (LatentProject,),
    **dict.fromkeys([f"project.{part}" for part in ("W_Q", "W_DKV", "norm", "rotary")], ()),
    "split": (LatentSplit,),
    "split.rotary": (),
    "split.W_UK": (nn.Linear,),
    "split.W_UV": (nn.Linear,),
    "attend": (Attend,),
    **_ATTEND,
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
"""The stages of latent attention, whatever makes its queries and latents."""

HOOKS = "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"
_PARAMETERS = {"weight", "bias", "sinks", "log_alpha"}  # GptOssAttention's, HardConcrete's
_HARMLESS = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}


def _functions(cls: type) -> dict[str, Any]:
    return {n: f for n, f in vars(cls).items() if isfunction(f) and n not in _HARMLESS}


def _subclasses(cls: type) -> list[type]:
    found, subclass = [cls], cls
    for subclass in cls.__subclasses__():
        found += _subclasses(subclass)
    return found


# A patched method may carry the old one's name (functools.wraps), so names prove nothing. The
# functions themselves are noted when this module is imported, after all variants.
_WRITTEN: dict[type, dict[str, Any]] = {
    cls: _functions(cls)
    for cls in (*_subclasses(Stage), nn.Linear, nn.Dropout, Rotary, HardConcrete, *_NORMS)
}


def check_modules(source: Any, allowed: Classes, action: str, fix: str) -> None:
    """Raise unless every module in ``source`` is of a class allowed at its path, unchanged.

    ``action`` says what cannot be done ("has no fused form"), ``fix`` is the repair. Raises
    ``TypeError`` for the class of the source, ``ValueError`` for a part of it, for anything
    that was added, and for parameters that are shared or differ in dtype or device.

    >>> adapted = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> allowed = {"": (nn.Sequential,), "0": (nn.Linear,)}
    >>> check_modules(adapted, allowed, "is not converted", "drop it")
    Traceback (most recent call last):
    ...
    ValueError: 1=Dropout is not converted; nothing is known there: drop it.
    """
    modules = {"": source}
    if isinstance(source, nn.Module):
        modules = dict(source.named_modules(remove_duplicate=False))
    free = tuple(path + "." for path, classes in allowed.items() if path and not classes)
    modules = {p: m for p, m in modules.items() if not f"{p}.".startswith(free)}
    for path, module in modules.items():
        classes, name = allowed.get(path, ()), _named(module)
        if not any(behaves_as(type(module), cls) for cls in classes):
            known = " or ".join(cls.__name__ for cls in classes)
            known = f"only {known} is" if known else "nothing is"
            if path and nn.utils.parametrize.is_parametrized(module):
                fix = "call torch.nn.utils.parametrize.remove_parametrizations"
            where = f"{path}={name}" if path else name
            error = ValueError if path else TypeError
            raise error(f"{where} {action}; {known} known there: {fix}.")
        change = added(module)
        for strange in module._parameters.keys() - _PARAMETERS:
            if module._parameters[strange] is not None:
                change = f"has a parameter {strange}", "fold it into the maps, or delete it"
        if change:
            raise ValueError(f"{path or name} {change[0]}, which {action}: {change[1]}.")
    check_parameters(modules)


def check_stages(attention: Any, action: str, fix: str, allowed: Classes = STANDARD) -> None:
    """As ``check_modules``; the sizes of the stages must be those that the attention names.

    >>> mha = MultiHeadAttention(12, 3, split=Split(4))
    >>> check_stages(mha, "has no fused form", "replace it")
    Traceback (most recent call last):
    ...
    ValueError: split makes n_heads=4 of 12 features, but the attention has n_heads=3 of ...
    """
    check_modules(attention, allowed, action, fix)
    split, d_head = attention.split, attention.d_head
    if split.n_heads != attention.n_heads:
        raise ValueError(
            f"split makes n_heads={split.n_heads} of {attention.project.W_Q.out_features} "
            f"features, but the attention has n_heads={attention.n_heads} of d_head={d_head}; "
            f"make the stages for the same heads."
        )
    d_heads = split.n_heads * d_head
    d_kv_heads = getattr(split, "n_kv_heads", split.n_heads) * d_head
    for name, wanted in {
        "project.W_Q": (d_heads, attention.d_model),
        "project.W_K": (d_kv_heads, attention.d_context),
        "project.W_V": (d_kv_heads, attention.d_context),
        "W_O": (attention.d_model, d_heads),
    }.items():
        if allowed[name]:
            check_shape(name, attention.get_submodule(name).weight, wanted)
    if not isinstance(attention.attend.scale, int | float):
        kind = _named(attention.attend.scale)
        raise ValueError(f"attend.scale is a {kind}, which {action}: make it a float.")


def check_shape(name: str, given: Tensor, wanted: tuple[int, ...]) -> None:
    """Raise ``ValueError`` unless a parameter has the shape that the sizes call for.

    >>> check_shape("W_O", torch.zeros(2, 3), (2, 2))
    Traceback (most recent call last):
    ...
    ValueError: W_O has shape (2, 3), not (2, 2), which d_model, d_context, n_heads and ...
    """
    if tuple(given.shape) != wanted:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}, not {wanted}, which d_model, d_context, "
            f"n_heads and d_head of the attention call for; replace what does not fit."
        )


def _named(thing: Any) -> str:
    return getattr(thing, "__qualname__", type(thing).__name__)


def behaves_as(cls: type, known: type) -> bool:
    """Whether a class is known, or a subclass that is only constructed or shown otherwise.

    >>> behaves_as(nn.Linear, nn.Linear), behaves_as(nn.Linear, nn.Module)
    (True, False)
    """
    if known not in cls.__mro__:
        return False
    i = cls.__mro__.index(known)
    if cls.__mro__[i:] != known.__mro__:  # a mixin listed after the known class changes super()
        return False
    return not any(
        callable(value) or not name.startswith("__")
        for base in cls.__mro__[:i]
        for name, value in vars(base).items()
        if name not in _HARMLESS
    )


def added(module: nn.Module) -> tuple[str, str] | None:
    """What was done to a module after its class was written, and the repair; else None.

    >>> W = nn.Linear(2, 2)
    >>> handle = W.register_forward_hook(print)
    >>> added(W)
    ('has a hook, print', 'convert without it, and hook the result')
    """
    for name, value in vars(module).items():
        if isinstance(value, Tensor) and name in _PARAMETERS:
            fix = "remove_weight_norm, remove_spectral_norm or prune.remove of torch.nn.utils"
            return f"computes its {name}", f"make it a plain parameter first, with {fix}"
        theirs = getattr(type(module), name, None)
        # accelerate leaves the bound method of the class behind, which changes nothing
        own = ismethod(value) and value.__self__ is module and value.__func__ is theirs
        if callable(theirs) and not own:
            fix = "accelerate: remove_hook_from_module"
            return f"has a {name} of its own", f"remove what put it there ({fix})"
    for base in type(module).__mro__:
        written = _WRITTEN.get(base)
        if written is not None and (now := _functions(base)) != written:
            name = min(n for n in now.keys() | written if now.get(n) is not written.get(n))
            return f"has a patched {name}", "restore the one that its class was written with"
    for hook in (hook for kind in HOOKS for hook in (getattr(module, kind) or {}).values()):
        if not changes_nothing(hook):
            act = getattr(hook, "act", hook)  # ``Hooks`` wraps the function that it was given
            return f"has a hook, {_named(act)}", "convert without it, and hook the result"
    for name, parameter in module._parameters.items():
        if parameter is not None and type(parameter) not in (nn.Parameter, Tensor):
            return f"has a {_named(parameter)} as {name}", "pass an attention that is whole"
        if parameter is not None and parameter._backward_hooks:
            return f"has a hook on {name}", "convert without it, and hook the result"
    return None


def check_parameters(modules: Mapping[str, nn.Module]) -> None:
    """Raise ``ValueError`` for several dtypes or devices, shared parameters, or mixed modes.

    >>> W = nn.Linear(2, 2)
    >>> check_parameters({"": nn.ModuleList([W]), "0": W})
    """
    paths: dict[int, str] = {}
    kinds = set()
    for path, module in modules.items():
        for name, parameter in module._parameters.items():
            if parameter is None:
                continue
            here = f"{path}.{name}".removeprefix(".")
            # The copies of a shared parameter would learn apart, which no forward pass shows.
            if (first := paths.setdefault(id(parameter), here)) != here:
                raise ValueError(
                    f"{here} is {first}, one parameter at two places; make it another, "
                    f"with copy.deepcopy({path.rpartition('.')[2] or name})."
                )
            kinds.add((parameter.dtype, parameter.device))
        other_mode = module.training is not modules[""].training
        if other_mode and isinstance(module, nn.Dropout) and module.p:
            raise ValueError(
                f"{path} is in another mode than the attention; call train() or eval() on "
                f"the whole."
            )
    if len(kinds) > 1:
        found = ", ".join(sorted(f"{dtype} on {device}" for dtype, device in kinds))
        raise ValueError(f"parameters are {found}; move them to one dtype and device first.")


def like(parameter: Tensor, part: Tensor) -> Tensor:
    """A part of a parameter, or what is made of it: it learns if the parameter does.

    >>> W = nn.Linear(2, 6).requires_grad_(False).weight
    >>> [like(W, part).requires_grad for part in W.chunk(3)]
    [False, False, False]
    """
    return part.detach().requires_grad_(parameter.requires_grad)


def split_rows(parameter: Tensor | None, widths: Sequence[int]) -> list[Any]:
    """The rows of a packed parameter for each linear map; no bias stays none.

    >>> [rows.shape[0] for rows in split_rows(nn.Linear(2, 6).bias, [2, 4])]
    [2, 4]
    """
    if parameter is None:
        return [None] * len(widths)
    return [like(parameter, part) for part in parameter.detach().split(list(widths))]


def write(to: Tensor, given: Tensor) -> None:
    """Overwrite a parameter; it learns afterwards if ``given`` does.

    >>> norm = nn.RMSNorm(2)
    >>> write(norm.weight, torch.tensor([1.0, 2.0]))
    >>> norm.weight.tolist(), norm.weight.requires_grad
    ([1.0, 2.0], False)
    """
    with torch.no_grad():
        to.copy_(given)
    to.requires_grad_(given.requires_grad)


def copy_linear(
    to: nn.Linear, weight: Tensor, bias: Tensor | None, name: str = "the map"
) -> None:
    """Fill a linear map; without a bias it has none afterwards.

    A bias of zeros would be the same function, but it would learn to be another. ``name`` is
    what the error of ``check_shape`` calls the map.

    >>> W = nn.Linear(2, 2)
    >>> copy_linear(W, torch.eye(2).requires_grad_(), None)
    >>> W(torch.ones(2)).tolist(), W.weight.requires_grad, W.bias
    ([1.0, 1.0], True, None)
    """
    for part, given in {"weight": weight, "bias": bias}.items():
        mine = to._parameters[part]
        if given is None:
            to.register_parameter(part, None)
            continue
        if mine is None:
            mine = nn.Parameter(weight.new_empty(to.out_features))
            to.register_parameter(part, mine)
        check_shape(f"{name}.{part}", given, tuple(mine.shape))
        write(mine, given)


def fill(attention: MultiHeadAttention, weights: Sequence[Any], biases: Sequence[Any]) -> None:
    """Copy into W_Q, W_K, W_V and W_O, in this order.

    >>> mha, W = MultiHeadAttention(2, 1), nn.Linear(2, 2)
    >>> fill(mha, [W.weight] * 4, [None, None, None, W.bias])
    >>> torch.equal(mha.W_O.bias, W.bias)
    True
    """
    maps = maps_of(attention).items()
    for (name, to), weight, bias in zip(maps, weights, biases, strict=True):
        copy_linear(to, weight, bias, name)


def packed(maps: Mapping[str, nn.Linear], action: str, fix: str) -> list[Any]:
    """Weight and bias of several linear maps stacked into one; all of them learn, or none.

    Zeros stand for a bias that is missing while others are there. They must not learn; those
    of W_K may, because no bias of the keys changes a weight of attention.

    >>> maps = {"one": nn.Linear(2, 3), "two": nn.Linear(2, 4)}
    >>> weight, bias = packed(maps, "…", "…")
    >>> weight.shape, bias.requires_grad
    (torch.Size([7, 2]), True)
    """
    found: list[Any] = []
    for part in ("weight", "bias"):
        given = {name: getattr(W, part) for name, W in maps.items()}
        there = {f"{name}.{part}": t for name, t in given.items() if t is not None}
        absent = [f"{name}.{part}" for name, t in given.items() if t is None]
        learn = {name for name, t in there.items() if t.requires_grad}
        still = there.keys() - learn or {name for name in absent if name != "W_K.bias"}
        if learn and still:
            state = "frozen" if min(still) in there else "None"
            raise ValueError(
                f"{min(learn)} learns and {min(still)} is {state}, which {action}: {fix}."
            )
        rows = [
            W.weight.new_zeros(W.out_features) if given[name] is None else given[name]
            for name, W in maps.items()
        ]
        whole = torch.cat(rows).detach().requires_grad_(bool(learn)) if there else None
        found.append(whole)
    return found


def copied(module: Module, shared: dict[int, Any] | None = None) -> Module:
    """A copy without the hooks that watch the original; ``shared`` is the memo of deepcopy.

    >>> from mhsa_lib.tracing.hooks import watching
    >>> mha = MultiHeadAttention(12, 3)
    >>> handle = mha.register_forward_hook(watching(lambda *_: None))
    >>> len(mha._forward_hooks), len(copied(mha)._forward_hooks)
    (1, 0)
    """
    new = deepcopy(module, shared)
    for hooks in [getattr(each, kind) for each in new.modules() for kind in HOOKS]:
        for key in [key for key, hook in (hooks or {}).items() if changes_nothing(hook)]:
            del hooks[key]
    return new
