"""What a conversion accepts: modules it knows, by their classes, and nothing added to them.

A module with the right attributes may compute another function: a subclass with a forward
of its own, a hook, an adapter in place of a map, a router beside it. So every module in a
source has to be of a class that is known at its path, and bare. A subclass is known too if it
changes nothing but how it is made or shown. Hooks that only watch (``trace``) are no reason to
refuse.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from inspect import isfunction, ismethod
from typing import Any, TypeVar

from torch import Tensor, nn

from mhsa_lib.accept import carry
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Wire
from mhsa_lib.trace.hooks import changes_nothing
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit
from mhsa_lib.variants.latent import LatentAttend, LatentAttention, LatentProject, LatentSplit

Kind = type | str
Kinds = dict[str, tuple[Kind, ...]]
"""What may stand at each path of a module, "" for itself: classes, or their full names.

Where it is (), anything may stand: that part and those in it belong to the block around.
"""

Module = TypeVar("Module", bound=nn.Module)

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

UNSHARED: Kinds = PLAIN | {"": (MultiHeadAttention,), "split": (Split,), "attend": (Attend,)}
"""The same, every head with keys and values of its own."""

ROTARY: Kinds = {
    **PLAIN,
    "split": (Split, GroupedSplit, RotarySplit),
    "split.rotary": (Rotary,),
    "split.q_norm": (nn.Identity, nn.RMSNorm, nn.LayerNorm),
    "split.k_norm": (nn.Identity, nn.RMSNorm, nn.LayerNorm),
    "split.q_heads": (Wire,),
    "split.k_heads": (Wire,),
}
"""As ``PLAIN``, also with rotary positions."""

LATENT: Kinds = {
    "": (LatentAttention,),
    "project": (LatentProject,),
    "project.W_Q": (),
    "project.W_DKV": (),
    "project.norm": (),
    "project.rotary": (),
    "split": (LatentSplit,),
    "split.rotary": (),
    "split.W_UK": (nn.Linear,),
    "split.W_UV": (nn.Linear,),
    "attend": (LatentAttend,),
    **ATTEND,
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
"""The stages of latent attention, whatever makes queries and latents."""

ITSELF = (
    "pass the whole attention module, not one in it nor the block or the model around it, with "
    "its own plain parts (adapters: model = peft_model.merge_and_unload(), then take it there)"
)
"""The repair where a conversion of a foreign module refuses."""

_SHORT = 4  # as many names as a message can hold
_SHOWN = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}
_PACKED = {"in_proj_weight", "in_proj_bias", "bias_k", "bias_v"}  # of nn.MultiheadAttention
_APART = {"q_proj_weight", "k_proj_weight", "v_proj_weight"}  # of the same
_PARAMETERS = {"weight", "bias", "sinks"} | _PACKED | _APART  # sinks: of GptOssAttention
_BACKWARD = "_backward_pre_hooks", "_backward_hooks"
_HOOKS = "_forward_pre_hooks", "_forward_hooks", *_BACKWARD


def only(source: Any, kinds: Kinds, why: str, do: str) -> None:
    """Every module in ``source`` is of a kind known at its path, with nothing added to it.

    ``why`` follows the name of what is not, ``do`` is the repair. Raises ``TypeError`` for the
    class of the source and ``ValueError`` for a part of it and for anything added.

    >>> adapted = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> only(adapted, {"": (nn.Sequential,), "0": (nn.Linear,)}, "is not converted", "drop it")
    Traceback (most recent call last):
    ...
    ValueError: 1=Dropout is not converted; nothing is known there: drop it.
    """
    _is_any(source, kinds[""], _named(source), TypeError, why, do)
    modules = {
        path: module
        for path, module in source.named_modules(remove_duplicate=False)
        if not any(kinds.get(each) == () for each in _upwards(path))
    }
    for path, module in modules.items():
        _is_any(module, kinds.get(path, ()), f"{path}={_named(module)}", ValueError, why, do)
        added = next(_added(module), None)
        if added is not None:
            raise ValueError(f"{path or _named(module)} {added[0]}, which {why}: {added[1]}.")
    _same_everywhere(modules)


def plain(attention: Any, why: str, do: str, kinds: Kinds = PLAIN) -> None:
    """Stages that are known, and whose sizes are those that the attention names.

    >>> plain(MultiHeadAttention(12, 3, split=Split(4)), "has no fused form", "replace it")
    Traceback (most recent call last):
    ...
    ValueError: split cuts 12 columns into n_heads=4, but the attention has n_heads=3 of ...
    """
    only(attention, kinds, why, do)
    split, d_head = attention.split, attention.d_head
    if split.n_heads != attention.n_heads:
        raise ValueError(
            f"split cuts {attention.project.W_Q.out_features} columns into "
            f"n_heads={split.n_heads}, but the attention has n_heads={attention.n_heads} of "
            f"d_head={d_head}; make the stages for the same heads."
        )
    d_heads = split.n_heads * d_head
    d_kv_heads = getattr(split, "n_kv_heads", split.n_heads) * d_head
    for name, wanted in {
        "project.W_Q": (d_heads, attention.d_model),
        "project.W_K": (d_kv_heads, attention.d_context),
        "project.W_V": (d_kv_heads, attention.d_context),
        "W_O": (attention.d_model, d_heads),
    }.items():
        if kinds[name]:
            carry.shaped(name, attention.get_submodule(name).weight, wanted)
    if not isinstance(attention.attend.scale, int | float):
        raise ValueError(
            f"attend.scale is a {_named(attention.attend.scale)}, which {why}: make it a float."
        )


def one_width(attention: Any, why: str, do: str) -> None:
    """Queries and keys are made from tokens of the same width.

    >>> one_width(MultiHeadAttention(12, 3, d_context=5), "has no fused form", "keep it")
    Traceback (most recent call last):
    ...
    ValueError: d_context=5 differs from d_model=12, which has no fused form: keep it.
    """
    if attention.d_context != attention.d_model:
        raise ValueError(
            f"d_context={attention.d_context} differs from d_model={attention.d_model}, "
            f"which {why}: {do}."
        )


def copied(module: Module, shared: dict[int, Any] | None = None) -> Module:
    """A copy without the hooks that watch the original; ``shared`` is the memo of deepcopy.

    >>> from mhsa_lib.trace.hooks import watching
    >>> mha = MultiHeadAttention(12, 3)
    >>> handle = mha.register_forward_hook(watching(lambda *_: None))
    >>> len(mha._forward_hooks), len(copied(mha)._forward_hooks)
    (1, 0)
    """
    new = deepcopy(module, shared)
    for each in new.modules():
        for kind in _HOOKS:
            hooks = getattr(each, kind) or {}
            for key in [key for key, hook in hooks.items() if changes_nothing(hook)]:
                del hooks[key]
    return new


def _upwards(path: str) -> Iterator[str]:
    """A path and those of what it is in, without the whole."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _is_any(
    module: Any, kinds: tuple[Kind, ...], name: str, error: type, why: str, do: str
) -> None:
    if any(_is(type(module), kind) for kind in kinds):
        return
    if isinstance(module, type):
        name, do = f"the class {name}", "pass an object of it"
    elif nn.utils.parametrize.is_parametrized(module):
        do = "call torch.nn.utils.parametrize.remove_parametrizations"
    elif hasattr(module, "_orig_mod"):
        do = "pass what was given to torch.compile, its ._orig_mod"
    if type(module).__name__ in map(_short, kinds):  # another class of the same name
        name = f"{name} of {type(module).__module__}"
    known = f"only {_names(kinds)} is" if kinds else "nothing is"
    raise error(f"{name} {why}; {known} known there: {do}.")


def _added(module: nn.Module) -> Iterator[tuple[str, str]]:
    """What was done to a module after its class was written: what, and the repair."""
    for name, value in vars(module).items():
        if isinstance(value, Tensor) and name in _PARAMETERS:
            yield (
                f"computes its {name}",
                "make it plain first, with remove_weight_norm, remove_spectral_norm or "
                "prune.remove of torch.nn.utils",
            )
        theirs = getattr(type(module), name, None)
        own = ismethod(value) and value.__self__ is module and value.__func__ is theirs
        if callable(theirs) and not own:  # its own is what accelerate leaves behind
            yield (
                f"has a {name} of its own",
                f"let go who put it there (accelerate: remove_hook_from_module), or "
                f"del module.{name}",
            )
    for owner, name, method in _methods(type(module)):
        if not _is_written_there(method, owner, name):
            found = getattr(method, "__qualname__", type(method).__name__)
            at = getattr(method, "__module__", owner.__module__)
            yield f"has the {name} {at}.{found}", "let its class have its own again"
    for kind in _HOOKS:
        for hook in (getattr(module, kind) or {}).values():
            if not changes_nothing(hook):
                act = getattr(hook, "act", hook)  # a hook of ours stands around what it does
                yield f"has a hook, {_named(act)}", "convert without it, and hook the result"
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        if name not in _PARAMETERS:
            yield f"has a parameter {name}", "fold it into the maps, or delete it"
        if type(parameter) not in (nn.Parameter, Tensor):
            yield f"has a {_named(parameter)} as {name}", "pass an attention that is whole"
        if parameter._backward_hooks:
            yield f"has a hook on {name}", "convert without it, and hook the result"


def _methods(cls: type) -> Iterator[tuple[type, str, Any]]:
    """What a class and those above it do, up to what every module does: class, name, method."""
    for base in cls.__mro__:
        if base is nn.Module:
            return
        for name, value in vars(base).items():
            if name == "forward" or (isfunction(value) and name not in _SHOWN):
                yield base, name, value


def _is_written_there(method: Any, owner: type, name: str) -> bool:
    """Whether a method is the one that its class was written with, by its name and module."""
    named = getattr(method, "__module__", ""), getattr(method, "__qualname__", "")
    return named == (owner.__module__, f"{owner.__qualname__}.{name}")


def _same_everywhere(modules: Mapping[str, nn.Module]) -> None:
    """One dtype and device, each parameter once, and dropout in the mode of the whole."""
    paths: dict[int, str] = {}
    kinds = set()
    for path, module in modules.items():
        for name, parameter in module._parameters.items():
            if parameter is None:
                continue
            here = f"{path}.{name}".removeprefix(".")
            first = paths.setdefault(id(parameter), here)
            if first != here:
                raise ValueError(
                    f"{here} is {first}, one parameter at two places; make it another, "
                    f"with copy.deepcopy({path.rpartition('.')[2] or name})."
                )
            kinds.add((parameter.dtype, parameter.device))
        other_mode = module.training is not modules[""].training
        if other_mode and isinstance(module, nn.Dropout) and module.p:
            raise ValueError(
                f"{path} is in another mode than the attention; call train() or eval() on the "
                f"whole."
            )
    if len(kinds) > 1:
        found = ", ".join(sorted(f"{dtype} on {device}" for dtype, device in kinds))
        raise ValueError(f"parameters are {found}; move them to one dtype and device first.")


def _is(cls: type, kind: Kind) -> bool:
    """Whether a class is of a kind, or a subclass that only makes or shows itself otherwise."""
    for i, base in enumerate(cls.__mro__):
        if base is kind or f"{base.__module__}.{base.__qualname__}" == kind:
            return cls.__mro__[i:] == base.__mro__  # nothing beside it comes after it
        if any(not (n in _SHOWN or _is_plain(n, v)) for n, v in vars(base).items()):
            return False
    return False


def _is_plain(name: str, value: Any) -> bool:
    """An entry of a class that says something and does nothing."""
    return name.startswith("__") and not callable(value)


def _names(kinds: tuple[Kind, ...]) -> str:
    names = [_short(kind) for kind in kinds]
    if len(names) > _SHORT:
        names = [*names[:2], f"{len(names) - 2} more"]
    return " or ".join(names)


def _short(kind: Kind) -> str:
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def _named(thing: Any) -> str:
    return getattr(thing, "__qualname__", type(thing).__name__)
