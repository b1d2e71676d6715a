"""Weights copied into a new module, and the check that comes before: is the old one known?

What is rewritten (fused, sharded, pruned) is read by the names of its parameters. The copy
computes the same only if every module in the source is of a class whose ``forward`` we know,
and nothing was added to it afterwards. Hooks that only watch (``trace``) may stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from inspect import ismethod
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib import _torch_private
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Wire
from mhsa_lib.tracing.hooks import changes_nothing
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit
from mhsa_lib.variants.latent import LatentAttention, LatentProject, LatentSplit

Module = TypeVar("Module", bound=nn.Module)
Classes = dict[str, tuple[type[nn.Module], ...]]
"""Which classes are allowed at each path of a module, "" for itself; () allows all below it.

A ``Wire`` computes nothing and is allowed at every other path.
"""

_AFTER_SPLIT: Classes = {
    "attend": (Attend, GroupedAttend),
    "attend.dropout": (nn.Dropout,),
    "concat": (Concat,),
    "W_O": (nn.Linear,),
}
STANDARD: Classes = {
    "": (MultiHeadAttention, GroupedQueryAttention),
    "project": (Project,),
    **dict.fromkeys(("project.W_Q", "project.W_K", "project.W_V"), (nn.Linear,)),
    "split": (Split, GroupedSplit),
    **_AFTER_SPLIT,
}
"""The five stages as they are, every head with keys and values of its own or in groups."""
UNSHARED: Classes = STANDARD | {
    "": (MultiHeadAttention,),
    "split": (Split,),
    "attend": (Attend,),
}
_NORMS = nn.Identity, nn.RMSNorm, nn.LayerNorm
ROTARY: Classes = STANDARD | {
    "split": (Split, GroupedSplit, RotarySplit),
    "split.rotary": (Rotary,),
    "split.q_norm": _NORMS,
    "split.k_norm": _NORMS,
}
LATENT: Classes = {
    "": (LatentAttention,),
    "project": (LatentProject,),
    **dict.fromkeys([f"project.{part}" for part in ("W_Q", "W_DKV", "norm", "rotary")], ()),
    "split": (LatentSplit,),
    "split.rotary": (),
    **dict.fromkeys(("split.W_UK", "split.W_UV"), (nn.Linear,)),
    **_AFTER_SPLIT,
    "attend": (Attend,),
}
"""The stages of latent attention, whatever makes its queries and latents."""

# A patched forward may carry the old one's name (functools.wraps), so names prove nothing; the
# functions themselves are noted when this module is imported.
_FORWARDS: dict[type, Any] = {
    kind: kind.forward
    for table in (ROTARY, LATENT)
    for kinds in table.values()
    for kind in kinds
}
_HARMLESS = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}
_FLOATS = torch.float16, torch.bfloat16, torch.float32, torch.float64


def check_modules(source: Any, allowed: Classes, action: str, fix: str) -> None:
    """Raise unless every module in ``source`` is of a class allowed at its path, unchanged.

    ``action`` says what cannot be done ("has no fused form"), ``fix`` is the repair. Raises
    ``TypeError`` for the class of the source, ``ValueError`` for a part of it and as
    ``check_unchanged`` does.

    >>> adapted = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> allowed = {"": (nn.Sequential,), "0": (nn.Linear,)}
    >>> check_modules(adapted, allowed, "is not converted", "drop it")
    Traceback (most recent call last):
    ...
    ValueError: 1=Dropout is not converted; nothing is known there: drop it.
    """
    modules = {"": source}
    if isinstance(source, nn.Module):
        free = tuple(f"{path}." for path, classes in allowed.items() if path and not classes)
        every = source.named_modules(remove_duplicate=False)
        modules = {path: m for path, m in every if not f"{path}.".startswith(free)}
    for path, module in modules.items():
        classes, name = allowed.get(path, (Wire,)), _named(module)
        if not any(behaves_as(type(module), cls) for cls in classes):
            known = " or ".join(cls.__name__ for cls in allowed.get(path, ()))
            known = f"only {known} is" if known else "nothing is"
            where, error = (f"{path}={name}", ValueError) if path else (name, TypeError)
            raise error(f"{where} {action}; {known} known there: {fix}.")
    check_unchanged(modules, action)


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
            _check_shape(name, attention.get_submodule(name).weight, wanted)
    if not isinstance(attention.attend.scale, int | float):
        kind = _named(attention.attend.scale)
        raise ValueError(f"attend.scale is a {kind}, which {action}: make it a float.")


def _check_shape(name: str, given: Tensor, wanted: tuple[int, ...]) -> None:
    if tuple(given.shape) != wanted:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}, not {wanted}, which d_model, d_context, "
            f"n_heads and d_head of the attention call for; replace what does not fit."
        )


def _named(thing: Any) -> str:
    return getattr(thing, "__qualname__", type(thing).__name__)


def behaves_as(kind: type, known: type) -> bool:
    """Return whether a class is known, or only constructed or shown otherwise.

    >>> behaves_as(nn.Linear, nn.Linear), behaves_as(nn.Linear, nn.Module)
    (True, False)
    """
    own, rest = kind.__mro__, known.__mro__
    # The whole order counts: a mixin listed after the known class changes what its super() is.
    if own[-len(rest) :] != rest:
        return False
    added = {n: value for base in own[: -len(rest)] for n, value in vars(base).items()}
    return all(
        name in _HARMLESS or (name.startswith("__") and not callable(value))
        for name, value in added.items()
    )


def check_unchanged(modules: Mapping[str, nn.Module], action: str) -> None:
    """Raise ``ValueError`` for what was done to modules, by path, after they were written.

    A hook or a method of a module's own may act only in training, only in the backward pass or
    only on some inputs, shared parameters would learn apart, and quantised ones hold other
    numbers: no comparison of outputs shows that.

    >>> W = nn.Linear(2, 2)
    >>> handle = W.register_forward_hook(print)
    >>> check_unchanged({"W_O": W}, "has no fused form")
    Traceback (most recent call last):
    ...
    ValueError: W_O has a hook, print, which has no fused form: undo that first (accelerate: ...
    """
    paths: dict[int, str] = {}
    whole = next(iter(modules.values()))
    for path, module in modules.items():
        if change := next(_changes(module), ""):
            raise ValueError(
                f"{path or _named(module)} has {change}, which {action}: undo that first "
                f"(accelerate: remove_hook_from_module), and do it to the result."
            )
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            here = f"{path}.{name}".removeprefix(".")
            if (first := paths.setdefault(id(parameter), here)) != here:
                raise ValueError(
                    f"{here} is {first}, one parameter at two places; make it another, "
                    f"with copy.deepcopy({path.rpartition('.')[2] or name})."
                )
        other_mode = module.training is not whole.training
        if other_mode and isinstance(module, nn.Dropout) and module.p:
            raise ValueError(
                f"{path} is in another mode than the attention; call train() or eval() on "
                f"the whole."
            )


def _changes(module: nn.Module) -> Iterator[str]:
    """Yield what was done to a module itself."""
    for kind in type(module).__mro__:
        if kind in _FORWARDS and kind.forward is not _FORWARDS[kind]:  # type: ignore[attr-defined]
            yield "a patched forward"
    for attribute, value in vars(module).items():
        theirs = getattr(type(module), attribute, None)
        # accelerate leaves the bound method of the class behind, which changes nothing
        same = ismethod(value) and value.__self__ is module and value.__func__ is theirs
        if callable(theirs) and not same:
            yield f"a {attribute} of its own"
    for hook in (h for table in _torch_private.hook_tables(module) for h in table.values()):
        if not changes_nothing(hook):
            yield f"a hook, {_named(getattr(hook, 'act', hook))}"  # ``Hooks`` wraps its act
    for key, parameter in module.named_parameters(recurse=False):
        # Another class is a sharded or quantised parameter, or one that is not loaded yet.
        if type(parameter) not in (nn.Parameter, Tensor) or parameter.dtype not in _FLOATS:
            yield f"a {_named(parameter)} of {parameter.dtype} as {key}"
        if _torch_private.has_tensor_hooks(parameter):
            yield f"a hook on {key}"


def like(parameter: Tensor, part: Tensor) -> Tensor:
    """Return a part of a parameter, or what is made of it: it learns if the parameter does.

    >>> W = nn.Linear(2, 6).requires_grad_(False).weight
    >>> [like(W, part).requires_grad for part in W.chunk(3)]
    [False, False, False]
    """
    return part.detach().requires_grad_(parameter.requires_grad)


def split_rows(parameter: Tensor | None, widths: Sequence[int]) -> list[Any]:
    """Return the rows of a packed parameter for each linear map; no bias stays none.

    >>> [rows.shape[0] for rows in split_rows(nn.Linear(2, 6).bias, [2, 4])]
    [2, 4]
    """
    if parameter is None:
        return [None] * len(widths)
    return [like(parameter, part) for part in parameter.split(list(widths))]


def copy_parameter(to: nn.Module, name: str, given: Tensor | None) -> None:
    """Give a module a copy of a parameter, in its dtype; it learns if ``given`` does.

    >>> norm = nn.RMSNorm(2)
    >>> copy_parameter(norm, "weight", torch.tensor([1.0, 2.0]))
    >>> norm.weight.tolist(), norm.weight.requires_grad
    ([1.0, 2.0], False)
    """
    if given is not None:
        given = nn.Parameter(given.detach().clone(), given.requires_grad)
    setattr(to, name, given)


def copy_linear(
    to: nn.Linear, weight: Tensor, bias: Tensor | None, name: str = "the map"
) -> None:
    """Fill a linear map, called ``name`` in errors; without a bias it has none afterwards.

    A bias of zeros would be the same function, but it would learn to be another.

    >>> W = nn.Linear(2, 2)
    >>> copy_linear(W, torch.eye(2).requires_grad_(), None)
    >>> W(torch.ones(2)).tolist(), W.weight.requires_grad, W.bias
    ([1.0, 1.0], True, None)
    """
    _check_shape(f"{name}.weight", weight, (to.out_features, to.in_features))
    if bias is not None:
        _check_shape(f"{name}.bias", bias, (to.out_features,))
    copy_parameter(to, "weight", weight)
    copy_parameter(to, "bias", bias)


def keep_features(W: nn.Linear, axis: int, kept: Sequence[int]) -> None:
    """Keep only some of the outputs (axis 0) or of the inputs (axis 1) of a linear map.

    >>> W = nn.Linear(2, 3)
    >>> keep_features(W, 0, [0, 2])
    >>> W, W.bias.shape
    (Linear(in_features=2, out_features=2, bias=True), torch.Size([2]))
    """
    index = torch.tensor(kept, device=W.weight.device)
    for name in ("weight", "bias") if axis == 0 and W.bias is not None else ("weight",):
        whole = getattr(W, name)
        copy_parameter(W, name, like(whole, whole.index_select(axis, index)))
    W.out_features, W.in_features = W.weight.shape


def copied(module: Module, shared: dict[int, Any] | None = None) -> Module:
    """Return a copy without the hooks that watch the original.

    ``shared`` is the memo of ``deepcopy``: what it names is not copied.

    >>> from mhsa_lib.tracing.hooks import watching
    >>> mha = MultiHeadAttention(12, 3)
    >>> handle = mha.register_forward_hook(watching(lambda *_: None))
    >>> len(mha._forward_hooks), len(copied(mha)._forward_hooks)
    (1, 0)
    """
    new = deepcopy(module, shared)
    for hooks in (t for each in new.modules() for t in _torch_private.hook_tables(each)):
        for key in [key for key, hook in hooks.items() if changes_nothing(hook)]:
            del hooks[key]
    return new
