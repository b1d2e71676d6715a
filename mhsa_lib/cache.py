"""Decode token by token: what later tokens need is kept instead of computed again.

``remember`` listens to the wires that the stages of an attention declare as ``cached`` (keys
and values for most, a latent for ``LatentAttention``) and lays the new tokens' behind the old
ones. The five lines do not know. With the same mask, any way to cut a sequence into calls gives
the numbers of one pass.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, shapes
from mhsa_lib.places import Places
from mhsa_lib.stages import stages_of
from mhsa_lib.trace import the_attention


class Cache(dict[str, Tensor]):
    """The cached wires by name, each with all tokens so far along its axis ``key``.

    ``places`` knows the position of every token. ``window`` is the number of tokens after which
    one is forgotten, None for never.
    """

    def __init__(self, *, length: int | None = None, window: int | None = None) -> None:
        super().__init__()
        if window is not None:
            checks.positive(window=window)
        self.places, self.window = Places(length), window

    @property
    def n_tokens(self) -> int:
        """Slots in use, those with padding included."""
        return self.places.n_slots

    @property
    def bytes(self) -> int:
        """Memory of the cached wires."""
        return sum(wire.numel() * wire.element_size() for wire in self.values())

    def announce(self, positions: Any) -> None:
        """Positions ``(*batch, token)`` of the next call's tokens, -1 for padding.

        ``places.left_padded`` and ``places.right_padded`` make them from lengths. Without an
        announcement every sequence goes on where it ended. Raises ``ValueError`` in that call
        for positions that do not continue.
        """
        self.places.announce(positions)

    def forget(self) -> None:
        """Empty the cache; the next token stands at position 0."""
        self.clear()
        self.places.forget()

    def __repr__(self) -> str:
        wires = ", ".join(f"{name} {tuple(wire.shape)}" for name, wire in self.items())
        return f"Cache({self.n_tokens} tokens, {self.bytes:,} bytes: {wires})"


@contextmanager
def remember(
    model: nn.Module, *, length: int | None = None, window: int | None = None
) -> Iterator[Cache]:
    """Keep the cached wires of the attention in ``model`` while the block runs.

    Every call continues the sequences of the calls before it. Give each the mask that one pass
    would get: a predicate is asked about positions, a boolean tensor is about the tokens kept.
    A call that fails leaves the cache as it was. Gradients flow back into earlier calls.

    A ``trace``, inside or outside, sees the wires with all tokens, as the attention uses them.
    An ``edit`` inside changes what is remembered; one outside acts on all tokens, every time.

    Parameters
    ----------
    model : an attention of this library, or a module that holds one
    length : the most slots the cache may take
    window : forget what a ``masks.sliding_window(window)`` can no longer reach

    Raises
    ------
    ValueError : in the call, for a context (only self-attention grows), another batch, device
        or dtype than before, no room, or positions that do not continue; at once, for a model
        that remembers already

    Examples
    --------
    >>> from mhsa_lib import MultiHeadAttention, masks
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> whole = mha(x, mask=masks.causal)
    >>> with remember(mha) as cache:
    ...     parts = [mha(part, mask=masks.causal) for part in x.split([3, 1, 2], dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-6)
    True
    >>> cache
    Cache(6 tokens, 1,152 bytes: k_heads (2, 3, 6, 4), v_heads (2, 3, 6, 4))
    """
    attention: Any = the_attention(model)
    if any(isinstance(getattr(h, "__self__", None), _Call) for h in _hooks(attention)):
        raise ValueError(
            f"{type(attention).__name__} remembers already; use the cache of the with block "
            f"around this one."
        )
    call = _Call(attention, Cache(length=length, window=window))
    with ExitStack() as stack:
        pre: dict[str, Any] = {"with_kwargs": True, "prepend": True}
        stack.callback(attention.register_forward_pre_hook(call.begin, **pre).remove)
        for stage in stages_of(attention).values():
            if stage.cached:
                hook = stage.register_forward_hook(call.extend, prepend=True)
                stack.callback(hook.remove)
            if "positions" in signature(stage.forward).parameters:
                stack.callback(stage.register_forward_pre_hook(call.place, **pre).remove)
        stack.callback(attention.attend.register_forward_pre_hook(call.mask, **pre).remove)
        stack.callback(attention.register_forward_hook(call.end).remove)
        yield call.cache


class _Call:
    """One forward pass: what it adds stays aside until the pass has succeeded."""

    def __init__(self, attention: Any, cache: Cache) -> None:
        self.attention, self.cache = attention, cache
        self.positions = torch.empty(0)
        self.longer: dict[str, Tensor] = {}

    def begin(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        given = signature(module.forward).bind(*args, **kwargs).arguments
        x, context = given["x"], given.get("context")
        checks.no_context(x, context)
        checks.tokens("x", x, self.attention.d_model)
        self.longer = {}
        self.positions = self.cache.places.next(x.shape[:-2], x.shape[-2], x.device)

    def place(self, module: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return args, kwargs | {"positions": self.positions}

    def extend(self, stage: Any, args: Any, output: Any) -> Any:
        several = isinstance(output, tuple)
        values = dict(zip(stage.wires, output if several else (output,), strict=True))
        aliases = stage.shapes()
        for wire in stage.cached:
            values[wire] = self.longer[wire] = self._longer(wire, values[wire], aliases[wire])
        return tuple(values.values()) if several else values[stage.wires[0]]

    def _longer(self, wire: str, new: Tensor, alias: Any) -> Tensor:
        old = self.cache.get(wire)
        if old is None:
            return new
        if old.dtype is not new.dtype:
            raise ValueError(
                f"the cache holds {wire!r} in {old.dtype}, but now it is {new.dtype}; go on in "
                f"the same precision, or start another cache."
            )
        return torch.cat([old, new], dim=_key_axis(alias))

    def mask(self, module: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        bound = signature(module.forward).bind(*args, **kwargs)
        given = bound.arguments.get("mask")
        bound.arguments["mask"] = self.cache.places.may_look(given, self.attention.n_heads)
        return bound.args, bound.kwargs

    def end(self, module: nn.Module, args: Any, output: Any) -> None:
        self.cache.update(self.longer)
        self.cache.places.take()
        if self.cache.window is not None:
            slots = self.cache.places.window(self.cache.window)
            self.cache.places.keep(slots)
            aliases = _aliases(self.attention)
            for wire, value in self.cache.items():
                kept = slots.to(value.device)
                self.cache[wire] = value.index_select(_key_axis(aliases[wire]), kept)


def _key_axis(alias: Any) -> int:
    names = shapes.axes(alias)
    return names.index("key") - len(names)


def _aliases(attention: nn.Module) -> dict[str, Any]:
    stages = stages_of(attention).values()
    return {wire: alias for stage in stages for wire, alias in stage.shapes().items()}


def _hooks(attention: nn.Module) -> list[Any]:
    return list(attention._forward_pre_hooks.values())
