"""Weights copied into a new module, and the check that comes before: is the old one known?

An attention of ours that is rewritten (fused, sharded, pruned) is read by the names of its
parameters. The copy computes the same only if every module in the source is of a class whose
``forward`` we know, and nothing was added to it afterwards: a hook, a parametrization, a method
of its own. Hooks that only watch (``trace``) are no reason to refuse.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from inspect import ismethod
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib import _torch_private
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.stages import Attend, Concat, Project, Split, Wire, maps_of
from mhsa_lib.tracing.hooks import changes_nothing
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention, GroupedSplit
from mhsa_lib.variants.latent import LatentAttention, LatentProject, LatentSplit

Module = TypeVar("Module", bound=nn.Module)
Classes = dict[str, tuple[type, ...]]
"""Which classes are allowed at each path of a module, "" for itself.

Where it is (), anything is allowed, and so are the modules inside.
"""

_AFTER_SPLIT: Classes = {
    "attend": (Attend, GroupedAttend),
    **dict.fromkeys(("attend.scores", "attend.weights"), (Wire,)),
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
    **dict.fromkeys(("split.q_norm", "split.k_norm"), _NORMS),
    **dict.fromkeys(("split.q_heads", "split.k_heads"), (Wire,)),
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
    kind: getattr(kind, "forward", None)
    for kinds in (*ROTARY.values(), *LATENT.values())
    for kind in kinds
}
_HARMLESS = {"__init__", "__annotate__", "__annotate_func__", "extra_repr", "reset_parameters"}


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
        kind = next((cls for cls in classes if behaves_as(type(module), cls)), None)
        if kind is None:
            known = " or ".join(cls.__name__ for cls in classes)
            known = f"only {known} is" if known else "nothing is"
            where, error = (f"{path}={name}", ValueError) if path else (name, TypeError)
            raise error(f"{where} {action}; {known} known there: {fix}.")
        forward = getattr(kind, "forward", None)
        if forward is not _FORWARDS.get(kind, forward):
            raise ValueError(
                f"{path or name} has a patched forward, which {action}: restore the one that "
                f"its class was written with."
            )
        check_unchanged(module, path or name, action)
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


def behaves_as(kind: type, known: type) -> bool:
    """Return whether a class is known, or only constructed or shown otherwise.

    >>> behaves_as(nn.Linear, nn.Linear), behaves_as(nn.Linear, nn.Module)
    (True, False)
    """
    if known not in kind.__mro__:
        return False
    i = kind.__mro__.index(known)
    own = {name: value for base in kind.__mro__[:i] for name, value in vars(base).items()}
    changed = any(
        callable(value) or not name.startswith("__")
        for name, value in own.items()
        if name not in _HARMLESS
    )
    # A mixin listed after the known class changes what its super() is.
    return not changed and kind.__mro__[i:] == known.__mro__


def _only_watches(hook: Any) -> bool:
    # transformers leaves such hooks on every attention of a model that was ever asked for its
    # weights; they copy outputs and change none.
    collects = getattr(hook, "__module__", None) == "transformers.utils.output_capturing"
    return collects or changes_nothing(hook)


def check_unchanged(module: nn.Module, name: str, action: str) -> None:
    """Raise ``ValueError`` for what was done to a module after its class was written.

    A hook or a method of the module's own may act only in training, only in the backward pass
    or only on some inputs, so that no comparison of outputs can be trusted to show it.

    >>> W = nn.Linear(2, 2)
    >>> handle = W.register_forward_hook(print)
    >>> check_unchanged(W, "W_O", "has no fused form")
    Traceback (most recent call last):
    ...
    ValueError: W_O has a hook, print, which has no fused form: convert without it, and hook ...
    """
    change = ""
    for attribute, value in vars(module).items():
        theirs = getattr(type(module), attribute, None)
        # accelerate leaves the bound method of the class behind, which changes nothing
        same = ismethod(value) and value.__self__ is module and value.__func__ is theirs
        if callable(theirs) and not same:
            change, fix = f"a {attribute} of its own", "remove what put it there (accelerate: "
            fix += "remove_hook_from_module)"
    for hook in (h for table in _torch_private.hook_tables(module) for h in table.values()):
        if not (change or _only_watches(hook)):
            change = f"a hook, {_named(getattr(hook, 'act', hook))}"  # ``Hooks`` wraps its act
            fix = "convert without it, and hook the result"
    for key, parameter in module.named_parameters(recurse=False):
        if type(parameter) not in (nn.Parameter, Tensor):  # sharded, or quantised
            change, fix = f"a {_named(parameter)} as {key}", "pass an attention that is whole"
        elif _torch_private.has_tensor_hooks(parameter):
            change, fix = f"a hook on {key}", "convert without it, and hook the result"
    if change:
        raise ValueError(f"{name} has {change}, which {action}: {fix}.")


def check_parameters(modules: Mapping[str, nn.Module]) -> None:
    """Raise ``ValueError`` for several dtypes or devices, shared parameters, or mixed modes.

    >>> W = nn.Linear(2, 2)
    >>> check_parameters({"": nn.ModuleList([W]), "0": W})
    """
    paths: dict[int, str] = {}
    kinds = set()
    for path, module in modules.items():
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
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
    if bias is None:
        to.bias = None  # type: ignore[assignment]
    elif to.bias is None:
        to.bias = nn.Parameter(weight.new_empty(to.out_features))
    for part, given in {"weight": weight, "bias": bias}.items():
        if given is not None:
            mine = getattr(to, part)
            check_shape(f"{name}.{part}", given, tuple(mine.shape))
            write(mine, given)


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
        part = whole.detach().index_select(axis, index)
        setattr(W, name, nn.Parameter(part, whole.requires_grad))
    W.out_features, W.in_features = W.weight.shape


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
        for key in [key for key, hook in hooks.items() if _only_watches(hook)]:
            del hooks[key]
    return new
