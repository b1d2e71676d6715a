"""Decode token by token: what later tokens need is kept instead of computed again.

``remember`` listens to the wires that the stages of an attention declare as ``cached`` (keys
and values for most, a latent for ``LatentAttention``) and lays the new tokens' behind the old
ones. The five lines do not know. With the same mask, any way to cut a sequence into calls gives
the numbers of one pass.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import checks, shapes
from mhsa_lib.cache.growing import Cache
from mhsa_lib.cache.positions import within_window
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing.find import the_attention
from mhsa_lib.tracing.hooks import Hooks, acting
from mhsa_lib.tracing.watched import transformed


@contextmanager
def remember(
    model: nn.Module, *, length: int | None = None, window: int | None = None
) -> Iterator[Cache]:
    """Keep the cached wires of the attention in ``model`` while the block runs.

    Every call continues the sequences of the calls before it. Give each the mask that one pass
    would get: a predicate is asked about positions, a boolean tensor is about the tokens kept.
    A call that fails leaves the cache as it was; it has succeeded before a hook of somebody
    else on the attention runs. Gradients flow back into earlier calls.

    A ``trace``, inside or outside, sees the wires with all tokens, as the attention uses them.
    An ``edit`` inside changes what is remembered; one outside acts on all tokens, every time.
    Calls of this thread are remembered, compiled modules run uncompiled (``hooks.Hooks``).
    Stages other than ``attend`` are taken to treat every token on its own.

    Parameters
    ----------
    model : an attention of this library, or a module that holds one
    length : the most tokens of a sequence, padding included
    window : forget what a ``masks.sliding_window(window)`` can no longer reach; every mask is
        narrowed to it, and a tensor refused (``TypeError``)

    Raises
    ------
    RuntimeError : in the call, for one that a checkpoint repeats, or that ``torch.func``
        transforms without the block
    ValueError : in the call, for a context (only self-attention grows), several tokens without
        a mask (each would attend to later ones), another batch, device or dtype than before, no
        room, positions that do not continue, or keys that reach ``attend`` past the cached
        wires; at once, for a model that remembers already
    TypeError : at once, for stages that do not say what to keep, or a forward pass that takes
        other arguments

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
    can_be_remembered(attention)
    if any(isinstance(getattr(act, "__self__", None), _Call) for act in acting(attention)):
        raise ValueError(
            f"{type(attention).__name__} remembers already; use the cache of the with block "
            f"around this one."
        )
    call = _Call(attention, Cache(length=length, window=window))
    with Hooks(model) as hooks:
        hooks.before(attention, call.begin, first=True)
        for stage in stages_of(attention).values():
            if stage.cached:
                hooks.after(stage, call.extend, first=True)
            if "positions" in signature(stage.forward).parameters:
                hooks.before(stage, call.place, first=True)
        hooks.before(attention.attend, call.mask, first=True)
        hooks.after(attention, call.end)
        hooks.after(attention, call.leave, always=True)
        yield call.cache


def can_be_remembered(attention: Any) -> None:
    """An attention whose stages say what later tokens need; ``TypeError`` for another.

    >>> from mhsa_lib import MultiHeadAttention
    >>> can_be_remembered(MultiHeadAttention(12, 3, split=nn.Identity()))
    Traceback (most recent call last):
    ...
    TypeError: split=Identity is no Stage and holds none, so nothing says which of its ...
    """
    name = type(attention).__name__
    for owner, word in (("", "x"), ("attend", "mask")):
        module = getattr(attention, owner, None) if owner else attention
        if module is None or word not in signature(module.forward).parameters:
            raise TypeError(
                f"remember finds no {owner or 'attention'} that takes {word!r} in {name}; it "
                f"needs forward(x, context, mask) with a stage attend(q, k, v, mask)."
            )
    for stage in ("project", "split"):
        module = getattr(attention, stage, None)
        if module is not None and not stages_of(module):
            raise TypeError(
                f"{stage}={type(module).__name__} is no Stage and holds none, so nothing says "
                f"which of its values later tokens need; make it a Stage with wires and cached."
            )
    if not any(stage.cached for stage in stages_of(attention).values()):
        raise TypeError(
            f"no stage of {name} says what to keep; name the wires that later tokens need in "
            f"cached, as Split does with k_heads and v_heads."
        )


class _Call:
    """One forward pass: what it adds stays aside until the pass has succeeded."""

    def __init__(self, attention: Any, cache: Cache) -> None:
        self.attention, self.cache, self.transformed = attention, cache, transformed()
        self.positions = torch.empty(0)
        self.longer: dict[str, Tensor] = {}
        self.runs = False
        stages = stages_of(attention).values()
        self.axes = {w: _key_axis(s.shapes()[w]) for s in stages for w in s.cached}

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._is_a_call()
        given = signature(module.forward).bind(*args, **kwargs).arguments
        x, context = given["x"], given.get("context")
        checks.no_context(x, context)
        checks.tokens("x", x, self.attention.d_model)
        self.longer = {}
        self.positions = self.cache.positions.next(x.shape[:-2], x.shape[-2], x.device)
        self.runs = True

    def leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self.longer, self.runs = {}, False

    def place(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        return args, kwargs | {"positions": self.positions}

    def extend(self, stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        self._is_running()
        several = isinstance(output, tuple)
        values = dict(zip(stage.wires, output if several else (output,), strict=True))
        for wire in stage.cached:
            if wire in self.longer:
                raise ValueError(
                    f"wire {wire!r} was made twice in one pass; a cache keeps one of each name."
                )
            values[wire] = self.longer[wire] = self._longer(wire, values[wire])
        return tuple(values.values()) if several else values[stage.wires[0]]

    def _longer(self, wire: str, new: Tensor) -> Tensor:
        old = self.cache.get(wire)
        if old is None:
            return new
        if old.dtype is not new.dtype:
            raise ValueError(
                f"the cache holds {wire!r} in {old.dtype}, but now it is {new.dtype}; go on in "
                f"the same precision, or start another cache."
            )
        return torch.cat([old, new], dim=self.axes[wire])

    def mask(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        self._is_running()
        bound = signature(module.forward).bind(*args, **kwargs)
        self._hold_the_past([*bound.arguments.values()][1:3])
        given = within_window(bound.arguments.get("mask"), self.cache.rule)
        checks.sees_no_future(given, self.positions.shape[-1])
        bound.arguments["mask"] = self.cache.positions.may_look(given, self.attention.n_heads)
        return bound.args, bound.kwargs

    def _is_a_call(self) -> None:
        name = type(self.attention).__name__
        if torch._C._current_graph_task_id() != -1:
            raise RuntimeError(
                f"a checkpoint computes a pass of {name} again, which would be remembered "
                f"twice; remember without the checkpoint."
            )
        if transformed() is not self.transformed:
            raise RuntimeError(
                f"torch.func or forward mode surrounds this call of {name}, but not the block, "
                f"and what is kept would not outlive it; put the block inside."
            )

    def _is_running(self) -> None:
        if not self.runs:
            raise RuntimeError(
                f"a stage of {type(self.attention).__name__} runs outside its pass, so the "
                f"cache misses it; call the attention itself, not .forward or one stage."
            )

    def _hold_the_past(self, keys_and_values: list[Any]) -> None:
        """No key or value reaches ``attend`` past the cache."""
        n_key = self.cache.n_tokens + self.positions.shape[-1]
        for value in keys_and_values:
            if value.shape[-2] != n_key:
                raise ValueError(
                    f"attend got keys or values of {value.shape[-2]} tokens, but there are "
                    f"{n_key} with the cache's; name what they are made of in cached."
                )

    def end(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if missing := sorted(self.axes.keys() - self.longer.keys()):
            raise ValueError(
                f"the pass did not make {', '.join(missing)}, so the cache would have a gap; "
                f"a stage that names wires in cached has to run in every pass."
            )
        self.cache.update(self.longer)
        self.cache.positions.take()
        if self.cache.window is not None:
            slots = self.cache.positions.window(self.cache.window)
            self.cache.positions.keep(slots)
            for wire, value in self.cache.items():
                kept = slots.to(value.device)
                self.cache[wire] = value.index_select(self.axes[wire], kept)


def _key_axis(alias: Any) -> int:
    names = shapes.axes(alias)
    return names.index("key") - len(names)
