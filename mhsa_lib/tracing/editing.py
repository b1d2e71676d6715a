"""Change a wire while a forward pass runs, to ablate a head or patch a value."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from mhsa_lib import checks
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing.find import find_attentions
from mhsa_lib.tracing.hooks import Hooks

Change = Callable[[Tensor], Tensor]


@contextmanager
def edit(model: nn.Module, wire: str, change: Change | Mapping[str, Change]) -> Iterator[None]:
    """Replace the value of one wire by ``change(value)`` while the block runs.

    In a model with several attentions it is the wire of each of them. To change it in some, or
    in each in its own way, give a dict with a change for every path.

    A ``trace`` around or inside the block sees the edited value; of two edits of one wire the
    inner one acts first. Only passes of this thread are changed, and compiled modules run
    uncompiled (``hooks.Hooks``). Raises ``KeyError`` for an unknown wire or path, and
    ``TypeError`` or ``ValueError`` if a change does not return a tensor of the same shape and
    dtype.

    >>> from mhsa_lib import MultiHeadAttention
    >>> import torch
    >>> mha = MultiHeadAttention(12, 3)
    >>> with edit(mha, "z", torch.zeros_like):
    ...     y = mha(torch.randn(6, 12))
    >>> y.abs().max().item()
    0.0
    """
    attentions = find_attentions(model)
    changes = change if isinstance(change, Mapping) else dict.fromkeys(attentions, change)
    if unknown := [repr(path) for path in changes if path not in attentions]:
        raise KeyError(
            f"{type(model).__name__} has no attention at {checks.few(unknown)}; "
            f"find_attentions(model) has {checks.few([*map(repr, attentions)])}."
        )
    change_of = {_maker(attentions[path], path, wire): act for path, act in changes.items()}

    def replace(stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        values = stage.named(output)
        old, new = values[wire], change_of[stage](values[wire])
        found = f"the change of wire {wire!r} returned"
        if not isinstance(new, Tensor):
            raise TypeError(f"{found} {type(new).__name__}, not a tensor.")
        if new.shape != old.shape or new.dtype != old.dtype:
            raise ValueError(
                f"{found} {tuple(new.shape)} {new.dtype}; "
                f"it must keep {tuple(old.shape)} {old.dtype}."
            )
        values[wire] = new
        return tuple(values.values()) if isinstance(output, tuple) else new

    with Hooks(model) as hooks:
        for stage in change_of:
            # First, so that every other hook sees the edited value.
            hooks.after(stage, replace, first=True)
        yield


def _maker(attention: Stage, path: str, wire: str) -> Stage:
    """Return the stage of an attention that makes a wire."""
    stages = stages_of(attention).values()
    makers = [stage for stage in stages if wire in stage.wires]
    if len(makers) != 1:  # of two wires with one name, either could be meant
        have = sorted(name for stage in stages for name in stage.wires)
        where = type(attention).__name__ + (f" at {path}" if path else "")
        repair = "; to change others, give a dict of their paths" if path else ""
        raise KeyError(f"no single wire {wire!r} in {where}; it has {have}{repair}")
    return makers[0]
