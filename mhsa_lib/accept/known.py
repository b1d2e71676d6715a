"""What a conversion accepts: modules it knows, by their classes, and nothing added to them.

A module with the right attributes may compute another function: a subclass with a forward
of its own, a hook, an adapter in place of a map, a router beside it. So every module in a
source has to be of a class that is known at its path, and bare. A subclass is known too if it
changes nothing but how it is made or shown. Hooks that only watch (``trace``) are no reason to
refuse.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from mhsa_lib.accept import parameters
from mhsa_lib.accept.added import additions
from mhsa_lib.accept.kinds import STANDARD, Kind, Kinds, is_kind, named, names, short
from mhsa_lib.attention import MultiHeadAttention

ITSELF = (
    "pass the whole attention module, not one in it nor the block or the model around it, with "
    "its own plain parts (adapters: model = peft_model.merge_and_unload(), then take it there)"
)
"""The repair where a conversion of a foreign module refuses."""


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
    _is_any(source, kinds[""], named(source), TypeError, why, do)
    modules = {
        path: module
        for path, module in source.named_modules(remove_duplicate=False)
        if not any(kinds.get(each) == () for each in _upwards(path))
    }
    for path, module in modules.items():
        _is_any(module, kinds.get(path, ()), f"{path}={named(module)}", ValueError, why, do)
        added = next(additions(module), None)
        if added is not None:
            raise ValueError(f"{path or named(module)} {added[0]}, which {why}: {added[1]}.")
    _same_everywhere(modules)


def stages(attention: Any, why: str, do: str, kinds: Kinds = STANDARD) -> None:
    """Stages of known classes, whose sizes are those that the attention names.

    >>> from mhsa_lib.stages import Split
    >>> stages(MultiHeadAttention(12, 3, split=Split(4)), "has no fused form", "replace it")
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
            parameters.shaped(name, attention.get_submodule(name).weight, wanted)
    if not isinstance(attention.attend.scale, int | float):
        raise ValueError(
            f"attend.scale is a {named(attention.attend.scale)}, which {why}: make it a float."
        )


def one_width(attention: MultiHeadAttention, why: str, do: str) -> None:
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


def _upwards(path: str) -> Iterator[str]:
    """A path and those of what it is in, without the whole."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _is_any(
    module: Any, kinds: tuple[Kind, ...], name: str, error: type, why: str, do: str
) -> None:
    if any(is_kind(type(module), kind) for kind in kinds):
        return
    if isinstance(module, type):
        name, do = f"the class {name}", "pass an object of it"
    elif nn.utils.parametrize.is_parametrized(module):
        do = "call torch.nn.utils.parametrize.remove_parametrizations"
    elif hasattr(module, "_orig_mod"):
        do = "pass what was given to torch.compile, its ._orig_mod"
    if type(module).__name__ in map(short, kinds):  # another class of the same name
        name = f"{name} of {type(module).__module__}"
    known = f"only {names(kinds)} is" if kinds else "nothing is"
    raise error(f"{name} {why}; {known} known there: {do}.")


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
