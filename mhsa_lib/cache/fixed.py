"""Cross-attention token by token: what is made of the context is made once.

The keys and values of self-attention grow with every token (``remembering``); those of a
context stay. So after the first call the context goes in with no token at all: ``project`` has
nothing to do for it, and behind the stages that declare ``cached`` wires the kept values stand.

Source: Vaswani et al., section 3.2.3, arXiv 1706.03762 (queries from the decoder, keys and
values from the memory); Shazeer, arXiv 1911.02150, section 2.4.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

from torch import Tensor, nn

from mhsa_lib.cache.remembering import can_be_remembered
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing.find import the_attention
from mhsa_lib.tracing.hooks import Hooks, acting


@contextmanager
def remember_context(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Compute the cached wires of the attention in ``model`` once for one context.

    The first call that succeeds decides the context; every later one gives the same tensor. The
    numbers are those without the block. Yields the wires that are kept, by name, empty before
    the first call. A ``trace`` inside sees how many tokens of the context were projected: none
    after the first call. Stages other than ``attend`` are taken to treat every token on its
    own.

    Parameters
    ----------
    model : an attention of this library, or a module that holds one

    Raises
    ------
    ValueError : in the call, for no context, another one than before, or one that was changed;
        at once, for a model that remembers already
    TypeError : at once, for stages that do not say what to keep, or that turn keys by their
        position

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x, memory = MultiHeadAttention(12, 3), torch.randn(2, 4, 12), torch.randn(2, 7, 12)
    >>> with remember_context(mha) as kept:
    ...     parts = [mha(token, memory) for token in x.split(1, dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), mha(x, memory), atol=1e-6)
    True
    >>> {name: tuple(wire.shape) for name, wire in kept.items()}
    {'k_heads': (2, 3, 7, 4), 'v_heads': (2, 3, 7, 4)}
    """
    attention: Any = the_attention(model)
    can_be_remembered(attention)
    _knows_no_positions(attention)
    if any(isinstance(getattr(act, "__self__", None), _Context) for act in acting(attention)):
        raise ValueError(
            f"{type(attention).__name__} remembers a context already; use the with block "
            f"around this one."
        )
    context = _Context()
    with Hooks(model) as hooks:
        hooks.before(attention, context.begin, first=True)
        for stage in stages_of(attention).values():
            if stage.cached:
                hooks.after(stage, context.keep, first=True)
        hooks.after(attention, context.end)
        hooks.after(attention, context.leave, always=True)
        yield context.kept


def _knows_no_positions(attention: Any) -> None:
    for path, stage in stages_of(attention).items():
        if "positions" in signature(stage.forward).parameters:
            raise TypeError(
                f"{path}={type(stage).__name__} places queries behind the keys, but a context "
                f"stands beside them; use a stage without positions for cross-attention."
            )


class _Context:
    """One context, and the wires that were made of it in the first call that succeeded."""

    def __init__(self) -> None:
        self.kept: dict[str, Tensor] = {}
        self.known: Tensor | None = None
        self.version = 0
        self.made: dict[str, Tensor] = {}
        self.coming: Tensor | None = None

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = signature(module.forward).bind(*args, **kwargs)
        given = bound.arguments.get("context")
        if given is None:
            raise ValueError(
                f"{type(module).__name__} remembers a context, but none was given; for "
                f"self-attention, whose keys grow, use remember."
            )
        self._is_the_known(given)
        self._forget_the_call()
        self.coming = given
        if self.known is not None:
            bound.arguments["context"] = given[..., :0, :]
        return bound.args, bound.kwargs

    def keep(self, stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        several = isinstance(output, tuple)
        values = stage.named(output)
        for wire in stage.cached:
            self.made[wire] = values[wire] = self.kept.get(wire, values[wire])
        return tuple(values.values()) if several else next(iter(values.values()))

    def end(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if self.known is None and self.coming is not None:
            self.kept.update(self.made)
            self.known, self.version = self.coming, _version(self.coming)

    def leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self._forget_the_call()

    def _forget_the_call(self) -> None:
        self.made, self.coming = {}, None

    def _is_the_known(self, given: Tensor) -> None:
        if self.known is None:
            return
        if given is not self.known:
            raise ValueError(
                f"a context {tuple(given.shape)} came, but another tensor, "
                f"{tuple(self.known.shape)}, is remembered; give the same one, or open another "
                f"block."
            )
        if _version(given) != self.version:
            raise ValueError(
                "the context was changed in place after its keys were made; open another block."
            )


def _version(tensor: Tensor) -> int:
    """How often a tensor was written to; tensors of inference mode do not count."""
    return -1 if tensor.is_inference() else tensor._version
