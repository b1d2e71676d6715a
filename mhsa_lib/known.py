"""What a conversion accepts: modules it knows, by their classes, and nothing added to them.

A module with the right attributes may compute another function: a subclass with a forward
of its own, a hook, an adapter in place of a map, a router beside it. So every module in a
source has to be of a class that is known at its path, and bare. A subclass is known too if it
changes nothing but how it is made or shown. Hooks that only watch (``trace``) are no reason to
refuse.

What was known is carried over whole: ``copy`` fills a map, ``copied`` copies a module.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from inspect import isfunction
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Wire
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit
from mhsa_lib.variants.latent import LatentAttend, LatentAttention, LatentProject, LatentSplit

Kind = type | str
Kinds = dict[str, tuple[Kind, ...]]
"""What may stand at each path of a module, "" for itself: classes, or their full names.

Where it is (), anything may stand: that part and those in it belong to the block around.
"""

Hook = TypeVar("Hook", bound=Callable[..., Any])
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
    "pass the attention module itself, not the block or the model around it, with its own "
    "plain parts (adapters: merge_and_unload())"
)
"""The repair where a conversion of a foreign module refuses."""

_STOCK = {None, "eager", "sdpa", "flex_attention"} | {f"flash_attention_{n}" for n in (2, 3, 4)}
_SHOWN = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}
_PACKED = {"in_proj_weight", "in_proj_bias", "bias_k", "bias_v"}  # of nn.MultiheadAttention
_APART = {"q_proj_weight", "k_proj_weight", "v_proj_weight"}  # of the same
_PARAMETERS = {"weight", "bias"} | _PACKED | _APART
_BACKWARD = "_backward_pre_hooks", "_backward_hooks"
_HOOKS = "_forward_pre_hooks", "_forward_hooks", *_BACKWARD


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
            _shaped(name, attention.get_submodule(name).weight, wanted)
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


def stock(config: Any) -> None:
    """The configuration of a Hugging Face model names a way to attend that is the library's.

    >>> import types
    >>> stock(types.SimpleNamespace(_attn_implementation="mine"))
    Traceback (most recent call last):
    ...
    ValueError: _attn_implementation='mine' was registered by somebody else; set ...
    """
    name = getattr(config, "_attn_implementation", None)
    if name not in _STOCK:
        raise ValueError(
            f"_attn_implementation={name!r} was registered by somebody else; set "
            f"config._attn_implementation='eager' if it computes the same."
        )


def packed(maps: Mapping[str, nn.Linear], why: str, do: str) -> list[Any]:
    """Weight and bias of maps laid one under the other; all of them learn, or none.

    Where one has no bias and others do, zeros are laid, which must not learn; those of W_K may,
    for no bias of keys changes a weight.

    >>> weight, bias = packed({"one": nn.Linear(2, 3), "two": nn.Linear(2, 4)}, "…", "…")
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
            raise ValueError(
                f"{min(learn)} learns and {min(still)} is "
                f"{'frozen' if min(still) in there else 'None'}, which {why}: {do}."
            )
        rows = [
            W.weight.new_zeros(W.out_features) if given[name] is None else given[name]
            for name, W in maps.items()
        ]
        whole = torch.cat(rows).detach().requires_grad_(bool(learn)) if there else None
        found.append(whole)
    return found


def like(parameter: Tensor, part: Tensor) -> Tensor:
    """A part of a parameter, or what is made of it: it learns if the parameter does.

    >>> W = nn.Linear(2, 6).requires_grad_(False).weight
    >>> [like(W, part).requires_grad for part in W.chunk(3)]
    [False, False, False]
    """
    return part.detach().requires_grad_(parameter.requires_grad)


def cut(parameter: Tensor | None, widths: Sequence[int]) -> list[Any]:
    """The rows of a packed parameter by map; no bias stays none.

    >>> [rows.shape[0] for rows in cut(nn.Linear(2, 6).bias, [2, 4])]
    [2, 4]
    """
    if parameter is None:
        return [None] * len(widths)
    return [like(parameter, part) for part in parameter.detach().split(list(widths))]


def copy(to: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    """Fill a map; what is frozen stays frozen, and what has no bias gets none.

    A bias of zeros would be the same function, and learn to be another.

    >>> W = nn.Linear(2, 2)
    >>> copy(W, torch.eye(2).requires_grad_(), None)
    >>> W(torch.ones(2)).tolist(), W.weight.requires_grad, W.bias
    ([1.0, 1.0], True, None)
    """
    for name, given in {"weight": weight, "bias": bias}.items():
        mine = to._parameters[name]
        if given is None:
            to.register_parameter(name, None)
            continue
        if mine is None:
            mine = nn.Parameter(weight.new_empty(to.out_features))
            to.register_parameter(name, mine)
        _shaped(name, given, tuple(mine.shape))
        with torch.no_grad():
            mine.copy_(given)
        mine.requires_grad_(given.requires_grad)


def fill(attention: Any, weights: Sequence[Any], biases: Sequence[Any]) -> None:
    """Copy into W_Q, W_K, W_V and W_O, in this order.

    >>> mha, W = MultiHeadAttention(2, 1), nn.Linear(2, 2)
    >>> fill(mha, [W.weight] * 4, [None, None, None, W.bias])
    >>> torch.equal(mha.W_O.bias, W.bias)
    True
    """
    project = attention.project
    maps = project.W_Q, project.W_K, project.W_V, attention.W_O
    for to, weight, bias in zip(maps, weights, biases, strict=True):
        copy(to, weight, bias)


def copied(module: Module, shared: dict[int, Any] | None = None) -> Module:
    """A copy without the hooks that watch the original; ``shared`` is the memo of deepcopy.

    >>> mha = MultiHeadAttention(12, 3)
    >>> handle = mha.register_forward_hook(watching(print))
    >>> copied(mha)._forward_hooks
    OrderedDict()
    """
    copy = deepcopy(module, shared)
    for each in copy.modules():
        for kind in _HOOKS:
            hooks = getattr(each, kind) or {}
            for key in [key for key, hook in hooks.items() if _watches(hook)]:
                del hooks[key]
    return copy


def _watches(hook: Any) -> bool:
    return getattr(hook, "only_watches", False)


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
    if type(module).__name__ in map(_short, kinds):  # another class of the same name
        name = f"{name} of {type(module).__module__}"
    known = f"only {_names(kinds)} has" if kinds else "nothing is known there"
    raise error(f"{name} {why}; {known}: {do}.")


def _added(module: nn.Module) -> Iterator[tuple[str, str]]:
    """What was done to a module after its class was written: what, and the repair."""
    if nn.utils.parametrize.is_parametrized(module):
        yield "is parametrized", "call torch.nn.utils.parametrize.remove_parametrizations"
    for name, value in vars(module).items():
        if isinstance(value, Tensor) and name in _PARAMETERS:
            yield (
                f"computes its {name}",
                "make it plain first, with remove_weight_norm, remove_spectral_norm or "
                "prune.remove of torch.nn.utils",
            )
        if callable(getattr(type(module), name, None)):
            yield (
                f"has a {name} of its own",
                f"delete that attribute, or let go who put it there (accelerate: "
                f"remove_hook_from_module), or del module.{name}",
            )
    owner = next(base for base in type(module).__mro__ if "forward" in vars(base))
    written = vars(owner)["forward"]
    named = getattr(written, "__qualname__", "")
    if isfunction(written) and named != f"{owner.__qualname__}.forward":
        yield f"has the forward {named}", "let its class have its own again"
    for kind in _HOOKS:
        for hook in (getattr(module, kind) or {}).values():
            if not _watches(hook):
                yield f"has a hook, {_named(hook)}", "convert without it, and hook the result"
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        if name not in _PARAMETERS:
            yield f"has a parameter {name}", "fold it into the maps, or delete it"
        if type(parameter) not in (nn.Parameter, Tensor):
            yield f"has a {_named(parameter)} as {name}", "pass an attention that is whole"
        if parameter._backward_hooks:
            yield f"has a hook on {name}", "convert without it, and hook the result"


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
                    f"with copy.deepcopy({path.rpartition('.')[2]})."
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


def _shaped(name: str, given: Tensor, wanted: tuple[int, ...]) -> None:
    if tuple(given.shape) != wanted:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}, not {wanted}, which d_model, d_context, "
            f"n_heads and d_head of the attention call for; replace what does not fit."
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
    names = [_short(kind) for kind in kinds]
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return " or ".join(names)


def _short(kind: Kind) -> str:
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def _named(thing: Any) -> str:
    return getattr(thing, "__qualname__", type(thing).__name__)
