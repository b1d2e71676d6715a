"""Drive a cache from the five stages of an attention, by hooks, while a block runs.

Behind a stage that names wires in ``cached``, those of the new tokens are joined with those of
the tokens before, so the five lines of ``forward`` know nothing of it. The keys of a context do
not grow: after the first call it goes in with no token at all, and what was kept is used.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150; Vaswani et al., section 3.2.3,
arXiv 1706.03762 (keys and values of a decoder's cross-attention come from the encoder).
"""

import asyncio
import contextlib
import inspect
import sys
from collections.abc import Iterator
from inspect import signature
from itertools import pairwise
from traceback import walk_stack
from typing import Any

import jaxtyping
from torch import Tensor, nn

from mhsa_lib import _torch_private, checks, shapes
from mhsa_lib.cache.memory import Call, KVCache
from mhsa_lib.cache.positions import whole_numbers
from mhsa_lib.execution_mode import is_transformed
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing.find import the_attention
from mhsa_lib.tracing.hooks import Hooks, acting


@contextlib.contextmanager
def kv_cache(
    model: nn.Module,
    positions: Any = None,
    context: Tensor | None = None,
    cache: KVCache | None = None,
) -> Iterator[KVCache]:
    """Keep what the attention in ``model`` needs for later tokens while the block runs.

    Every call continues the sequences of the calls before it, with gradients into them. Give
    each the mask that one pass over the whole text would get; several tokens need one, because
    without it each would attend to later ones. A call that fails leaves the cache as it was.
    With a ``context``, the keys and values of cross-attention are computed once: every call is
    given this same tensor, and its numbers are those without the block.

    A ``trace`` sees the wires with all tokens. An ``edit`` inside changes what is kept; one
    outside acts on all tokens, every time. Stages other than ``attend`` are taken to treat
    every token on its own. The block belongs to the thread that opens it, the task that makes
    its first call, and to a generator only while that runs.

    Parameters
    ----------
    model : an attention of this library, or a module that holds one
    positions : of the tokens in the first call, as for ``KVCache.at``
    context : what a cross-attention reads
    cache : where to keep it; a new ``KVCache()``, which grows, when not given

    Raises
    ------
    RuntimeError : in the call, for one that does not belong to the block
    ValueError : in the call, for several tokens without a mask, and for what does not continue
        the cache, be it batch, device, dtype, room, positions, the context or weights
    TypeError : at once, for stages that do not say what to keep, or place keys of a context

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention, masks
    >>> mha, x, memory = MultiHeadAttention(12, 3), torch.randn(2, 6, 12), torch.randn(2, 7, 12)
    >>> with kv_cache(mha) as cache:
    ...     parts = [mha(part, mask=masks.causal) for part in x.split([3, 1, 2], dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), mha(x, mask=masks.causal), atol=1e-6)
    True
    >>> cache
    KVCache(6 tokens, 1,152 bytes: k_heads (2, 3, 6, 4), v_heads (2, 3, 6, 4))
    >>> with kv_cache(mha, context=memory):
    ...     parts = [mha(token, memory) for token in x.split(1, dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), mha(x, memory), atol=1e-6)
    True
    """
    attention: Any = the_attention(model)
    _check_stages(attention)
    if any(isinstance(getattr(act, "__self__", None), _Driver) for act in acting(attention)):
        raise ValueError(
            f"{type(attention).__name__} has a cache already; use that of the with block "
            f"around this one."
        )
    cache = KVCache() if cache is None else cache
    if context is None:
        driver = _Driver(attention, cache, positions)
    else:
        driver = _ContextDriver(attention, cache, positions, context)
    with Hooks(model) as hooks:
        hooks.before(attention, driver.begin, first=True)
        for stage in stages_of(attention).values():
            if stage.cached:
                hooks.after(stage, driver.extend, first=True)
            if "positions" in _arguments(stage):
                hooks.before(stage, driver.place, first=True)
        hooks.before(attention.attend, driver.attend, first=True)
        hooks.after(attention, driver.end)
        hooks.after(attention, driver.leave, always=True)
        yield cache


def _arguments(module: Any) -> list[str]:
    return [] if module is None else list(signature(module.forward).parameters)


def _check_stages(attention: Any) -> None:
    """Refuse an attention whose stages do not say what later tokens need."""
    takes, attends = _arguments(attention), _arguments(getattr(attention, "attend", None))
    parts = [getattr(attention, n) for n in ("project", "split") if hasattr(attention, n)]
    plain = [type(part).__name__ for part in parts if not stages_of(part)]
    cached = [wire for stage in stages_of(attention).values() for wire in stage.cached]
    if "x" not in takes or "mask" not in attends or plain or not cached:
        raise TypeError(
            f"kv_cache needs forward(x, context, mask), attend(q, k, v, mask), and Stages that "
            f"name in cached what later tokens need, as Split does with k_heads and v_heads; "
            f"{type(attention).__name__} takes {takes}, its attend {attends}, its stages name "
            f"{cached}, and no Stage is {plain}."
        )


class _Driver:
    """What the hooks do in a pass of self-attention, which counts when it has succeeded."""

    def __init__(self, attention: Any, cache: KVCache, positions: Any) -> None:
        self.attention, self.cache = attention, cache
        self.transformed, self.task = is_transformed(), _task()
        self.opener = _generator_that_opens()
        self.call: Call | None = None
        self.first = None if positions is None else whole_numbers("positions", positions)
        self.axes = {}
        for stage in stages_of(attention).values():
            for wire in stage.cached:
                names = shapes.axes(stage.wires[wire])
                self.axes[wire] = names.index("key") - len(names)

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.check_turn()
        given = signature(module.forward).bind(*args, **kwargs).arguments
        x = given["x"]
        checks.no_context(x, given.get("context"))
        checks.tokens("x", x, self.attention.d_model)
        first = self.first if self.cache._at is None else None
        self.call = self.cache.begin(x.shape[:-2], x.shape[-2], x.device, first)

    def check_turn(self) -> None:
        """Refuse a pass that does not continue the text of this block."""
        # The thread alone does not say whose pass it is: tasks take turns in one thread, and so
        # do a generator that waits at a yield and whoever reads from it.
        self.task = self.task or _task()
        stack = [id(frame) for frame, _ in walk_stack(sys._getframe())]
        refusals = [
            (_torch_private.in_backward_thread(), "a checkpoint repeats it; use no checkpoint"),
            (is_transformed() != self.transformed, "torch.func is around it; open one inside"),
            (_task() is not self.task, "another task made the first; give each a copy"),
            (self.opener not in (None, *stack), "its generator waits at a yield; call a copy"),
        ]
        for refused, why in refusals:
            if refused:
                name = type(self.attention).__name__
                raise RuntimeError(f"this call of {name} does not belong to the block: {why}.")

    def place(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        # A stage that rotates by position has to know where the tokens of the pass are.
        return args, kwargs | {"positions": self.running().positions}

    def extend(self, stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        """Join the wires of the pass with those of the tokens before."""
        values, attend = stage.named(output), self.attention.attend
        listened = _torch_private.forward_hooks(stage)[1:]
        listened += _torch_private.forward_pre_hooks(attend)[1:]
        for wire in stage.cached:
            kept = self.keep(wire, values[wire])
            # Whoever else listens may change in place what it is given, and the cache must not
            # change with it. While nobody does, the copy is saved.
            values[wire] = kept.clone() if listened else kept
        joined = tuple(values.values())
        return joined if isinstance(output, tuple) else joined[0]

    def keep(self, wire: str, new: Tensor) -> Tensor:
        return self.running().append(wire, new, self.axes[wire])

    def attend(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        """Give ``attend`` the mask over all tokens."""
        call, bound = self.running(), signature(module.forward).bind(*args, **kwargs)
        for value in [*bound.arguments.values()][1:3]:
            if value.shape[-2] != call.n_seen:
                raise ValueError(
                    f"attend got keys or values of {value.shape[-2]} tokens, but there are "
                    f"{call.n_seen} with the cache's; name what they are made of in cached."
                )
        mask = call.attention_mask(bound.arguments.get("mask"), self.attention.n_heads)
        bound.arguments["mask"] = mask
        return bound.args, bound.kwargs

    def end(self, module: nn.Module, args: Any, output: Any) -> None:
        self.running().commit()
        self.first = None

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self.call = None

    def running(self) -> Call:
        if self.call is None:
            raise RuntimeError(
                f"a stage of {type(self.attention).__name__} runs outside its pass, so the "
                f"cache misses it; call the attention itself, not .forward or one stage."
            )
        return self.call


class _ContextDriver(_Driver):
    """Cross-attention: the first pass that succeeds makes keys and values for all others."""

    def __init__(self, attention: Any, cache: KVCache, positions: Any, context: Any) -> None:
        super().__init__(attention, cache, None)
        if positions is not None or cache.n_tokens or cache.ring is not None:
            raise ValueError(
                f"a context has no positions and fills a cache once; give no positions and an "
                f"empty cache without a window, not {positions} and {cache}."
            )
        for path, stage in stages_of(attention).items():
            if "positions" in _arguments(stage):
                raise TypeError(
                    f"{path}={type(stage).__name__} places queries behind the keys, but a "
                    f"context is next to them; use a stage without positions."
                )
        checks.tokens("context", context, attention.d_context, "d_context")
        self.context, self.made_of = context, list[Any]()

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.check_turn()
        bound = signature(module.forward).bind(*args, **kwargs)
        given, name = bound.arguments.get("context"), type(module).__name__
        if given is not self.context:
            came = None if given is None else tuple(given.shape)
            raise ValueError(
                f"the cache of {name} holds a context {tuple(self.context.shape)}, but another "
                f"tensor came, {came}; give the same one, or open another block."
            )
        if not self.cache.n_tokens:
            self.call = self.cache.begin(given.shape[:-2], given.shape[-2], given.device)
            return None
        if self.made_of != self.versions():
            raise ValueError(
                f"the context or weights of {name} have changed since its keys were made, as "
                f"by an optimizer step; open another block."
            )
        bound.arguments["context"] = given[..., :0, :]
        return bound.args, bound.kwargs

    def keep(self, wire: str, new: Tensor) -> Tensor:
        return self.cache.wires[wire] if self.cache.n_tokens else super().keep(wire, new)

    def attend(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
        """Leave the mask over the context as it was given."""

    def end(self, module: nn.Module, args: Any, output: Any) -> None:
        if not self.cache.n_tokens:
            self.made_of = self.versions()  # first, because keys count once they are committed
            super().end(module, args, output)

    def versions(self) -> list[Any]:
        """How often the context and all weights were written to, and where the weights are."""
        version, weights = _torch_private.version, self.attention.parameters()
        return [version(self.context), *[(id(p), p.data_ptr(), version(p)) for p in weights]]


def _task() -> Any:
    with contextlib.suppress(RuntimeError):  # outside of a loop
        return asyncio.current_task()


def _generator_that_opens() -> int | None:
    """The generator in which the with block is, by the id of its frame; None in a function."""
    # The frame lives as long as the block. A generator that contextlib runs is a with block
    # itself: what counts is where that one was opened, and so for a generator expression.
    kinds = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
    # With shapes checked, functions of jaxtyping stand between ours.
    between = (__file__, contextlib.__file__, *jaxtyping.__path__)
    for (frame, _), (caller, _) in pairwise(walk_stack(sys._getframe())):
        code, files = frame.f_code, (frame.f_code.co_filename, caller.f_code.co_filename)
        outside = not any(file.startswith(between) for file in files)
        if outside and code.co_name != "<genexpr>":
            return id(frame) if code.co_flags & kinds else None
    return None
