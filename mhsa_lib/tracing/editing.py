"""Change a wire while a forward pass runs, to ablate a head or patch a value."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing.find import the_attention
from mhsa_lib.tracing.hooks import Hooks


@contextmanager
def edit(model: nn.Module, wire: str, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replace the value of one wire by ``change(value)`` while the block runs.

    A ``trace`` around or inside the block sees the edited value; of two edits of one wire the
    inner one acts first. Only passes of this thread are changed, and compiled modules run
    uncompiled (``hooks.Hooks``). Raises ``KeyError`` for an unknown wire, and ``TypeError`` or
    ``ValueError`` if the change does not return a tensor of the same shape and dtype.

    >>> from mhsa_lib import MultiHeadAttention
    >>> import torch
    >>> mha = MultiHeadAttention(12, 3)
    >>> with edit(mha, "z", torch.zeros_like):
    ...     y = mha(torch.randn(6, 12))
    >>> y.abs().max().item()
    0.0
    """
    attention = the_attention(model)
    stages = stages_of(attention).values()
    makers = [stage for stage in stages if wire in stage.wires]
    if len(makers) != 1:  # of two wires with one name, either could be meant
        have = sorted(name for stage in stages for name in stage.wires)
        raise KeyError(f"no single wire {wire!r} in {type(attention).__name__}; it has {have}")
    (stage,) = makers

    def replace(stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        values = stage.named(output)
        old, new = values[wire], change(values[wire])
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
        # First, so that every other hook sees the edited value.
        hooks.after(stage, replace, first=True)
        yield
