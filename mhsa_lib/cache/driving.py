"""Drive a cache from the five stages of an attention, by hooks, while a block runs.

A stage names in ``cached`` the wires that later tokens need: keys and values for most, a latent
for ``LatentAttention``. Behind such a stage the new tokens' wires are joined with those of the
tokens before, so the five lines of ``forward`` know nothing of it. With the same mask, a text
gives the same numbers however it is divided into calls.

The keys and values of a context do not grow. After the first call the context goes in with no
token at all, so ``project`` has nothing to do for it, and what was kept takes its place.

Source: Shazeer, "Fast Transformer Decoding", arXiv 1911.02150; Vaswani et al., section 3.2.3,
arXiv 1706.03762 (keys and values of a decoder's cross-attention come from the encoder).
"""

import asyncio
import contextlib
import inspect
import sys
from collections.abc import Iterator
from inspect import signature
from types import FrameType
from typing import Any

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

    Every call continues the sequences of the calls before it. Give each the mask that one pass
    over the whole text would get: a predicate is asked about positions, a boolean tensor is
    about the tokens so far. Several tokens need a mask, because without one each would attend
    to later ones. A call that fails leaves the cache as it was, and gradients flow back into
    earlier calls.

    With padding, ``positions`` say where the tokens of the first call are, as
    ``left_padded([4, 2])`` does; afterwards every sequence goes on where it ended. For padding
    in a later call put it into a block ``with cache.at(positions):``.

    With a ``context``, the keys and values of cross-attention are computed once: every call
    in the block is given this same tensor, and its numbers are those without the block.

    A ``trace``, inside or outside, sees the wires with all tokens, as the attention uses them.
    An ``edit`` inside changes what is kept; one outside acts on all tokens, every time. Stages
    other than ``attend`` are taken to treat every token on its own. Compiled modules run
    uncompiled meanwhile (``hooks.Hooks``). The block belongs to the task that makes its first
    call, and to a generator that opened it only while the generator runs.

    Parameters
    ----------
    model : an attention of this library, or a module that holds one
    positions : of the tokens in the first call, ``(*batch, token)``, -1 for padding
    context : what a cross-attention reads
    cache : where to keep it; a new ``KVCache()``, which grows, when not given. Give
        ``KVCache(window=w)`` for a sliding window, or one that is to be continued

    Raises
    ------
    RuntimeError : in the call, for one that a checkpoint repeats, that ``torch.func``
        transforms without the block, or that another task makes
    ValueError : in the call, for several tokens without a mask, another batch, device or dtype
        than before, no room, positions that do not continue, keys that reach ``attend`` past
        the cached wires, or a context other than the block's, or one whose keys would change
        because it or a weight has changed; at once, for a model that has a cache already
    TypeError : at once, for stages that do not say what to keep, a forward pass that takes
        other arguments, or stages that rotate keys of a context by their position

    Examples
    --------
    >>> import torch
    >>> from mhsa_lib import MultiHeadAttention, masks
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    >>> whole = mha(x, mask=masks.causal)
    >>> with kv_cache(mha) as cache:
    ...     parts = [mha(part, mask=masks.causal) for part in x.split([3, 1, 2], dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-6)
    True
    >>> cache
    KVCache(6 tokens, 1,152 bytes: k_heads (2, 3, 6, 4), v_heads (2, 3, 6, 4))
    >>> memory = torch.randn(2, 7, 12)
    >>> with kv_cache(mha, context=memory) as cache:
    ...     parts = [mha(token, memory) for token in x.split(1, dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), mha(x, memory), atol=1e-6)
    True
    """
    attention: Any = the_attention(model)
    _can_be_cached(attention)
    if any(isinstance(getattr(act, "__self__", None), _Driver) for act in acting(attention)):
        raise ValueError(
            f"{type(attention).__name__} has a cache already; use that of the with block "
            f"around this one."
        )
    opener = _generator_that_opens(sys._getframe(2))
    cache = KVCache() if cache is None else cache
    driver: _Driver
    if context is None:
        driver = _Growing(attention, cache, opener, positions)
    else:
        driver = _Context(attention, cache, opener, positions, context)
    with Hooks(model) as hooks:
        hooks.before(attention, driver.begin, first=True)
        for stage in stages_of(attention).values():
            if stage.cached:
                hooks.after(stage, driver.extend, first=True)
            if "positions" in signature(stage.forward).parameters:
                hooks.before(stage, driver.place, first=True)
        hooks.before(attention.attend, driver.attend, first=True)
        hooks.after(attention, driver.end)
        hooks.after(attention, driver.leave, always=True)
        yield cache


def _can_be_cached(attention: Any) -> None:
    """Refuse an attention whose stages do not say what later tokens need."""
    name = type(attention).__name__
    for owner, word in (("", "x"), ("attend", "mask")):
        module = getattr(attention, owner, None) if owner else attention
        if module is None or word not in signature(module.forward).parameters:
            raise TypeError(
                f"kv_cache finds no {owner or 'attention'} that takes {word!r} in {name}; it "
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


class _Driver:
    """What the hooks do in one pass. What the pass adds counts when it has succeeded."""

    def __init__(self, attention: Any, cache: KVCache, opener: int | None) -> None:
        self.attention, self.cache, self.opener = attention, cache, opener
        self.transformed = is_transformed()
        self.task: Any = _task()
        self.called = self.task is not None
        self.call: Call | None = None
        stages = stages_of(attention).values()
        self.axes = {w: _key_axis(s.wires[w]) for s in stages for w in s.cached}

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def keep(self, wire: str, new: Tensor, copied: bool) -> Tensor:
        """Keep a wire of the pass, and return it as the attention is to use it."""
        raise NotImplementedError

    def place(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        """Tell a stage that rotates by position where the tokens of the pass are."""

    def attend(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        """Give ``attend`` the mask over all tokens."""

    def end(self, module: nn.Module, args: Any, output: Any) -> None:
        """Let the pass count."""

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self.call = None

    def extend(self, stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        values = stage.named(output)
        # Whoever else listens may change in place what it is given, and the cache must not
        # change with it. While nobody does, the copy is saved.
        watched = (
            max(
                len(_torch_private.forward_hooks(stage)),
                len(_torch_private.forward_pre_hooks(self.attention.attend)),
            )
            > 1
        )
        for wire in stage.cached:
            values[wire] = self.keep(wire, values[wire], watched)
        kept = tuple(values.values())
        return kept if isinstance(output, tuple) else kept[0]

    def is_a_pass(self) -> None:
        """Refuse a pass that does not continue the text of this block."""
        name = type(self.attention).__name__
        if _torch_private.in_backward_thread():
            raise RuntimeError(
                f"a checkpoint computes a pass of {name} again, which would be kept twice; use "
                f"the cache without the checkpoint."
            )
        if is_transformed() is not self.transformed:
            raise RuntimeError(
                f"torch.func or forward mode surrounds this call of {name}, but not the block, "
                f"and what is kept would not outlive it; put the block inside."
            )
        # The thread alone does not say whose pass it is: tasks take turns in one thread, and so
        # do a generator that waits at a yield and whoever reads from it.
        task = _task()
        if self.called and task is not self.task:
            raise RuntimeError(
                f"another task calls {name} while its cache belongs to the task that called it "
                f"first; give each task an attention and a cache of its own."
            )
        if self.opener is not None and not _runs(self.opener):
            raise RuntimeError(
                f"the generator that opened a cache of {name} waits at a yield, so this call "
                f"is not one of its own; call a copy of {name}, or close the generator first."
            )
        self.task, self.called = task, True


class _Growing(_Driver):
    """Self-attention: every call brings new tokens, and sees those of the calls before."""

    def __init__(
        self, attention: Any, cache: KVCache, opener: int | None, positions: Any
    ) -> None:
        super().__init__(attention, cache, opener)
        self.first = None if positions is None else whole_numbers("positions", positions)

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.is_a_pass()
        given = signature(module.forward).bind(*args, **kwargs).arguments
        x = given["x"]
        checks.no_context(x, given.get("context"))
        checks.tokens("x", x, self.attention.d_model)
        first = self.first if self.cache._at is None else None
        self.call = self.cache.begin(x.shape[:-2], x.shape[-2], x.device, first)

    def place(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return args, kwargs | {"positions": self._running().positions}

    def keep(self, wire: str, new: Tensor, copied: bool) -> Tensor:
        return self._running().append(wire, new, self.axes[wire], copied=copied)

    def attend(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        call, bound = self._running(), signature(module.forward).bind(*args, **kwargs)
        n_key = call.n_used + (call.n_tokens if call.wraps else 0)
        for value in [*bound.arguments.values()][1:3]:
            if value.shape[-2] != n_key:
                raise ValueError(
                    f"attend got keys or values of {value.shape[-2]} tokens, but there are "
                    f"{n_key} with the cache's; name what they are made of in cached."
                )
        mask = call.attention_mask(bound.arguments.get("mask"), self.attention.n_heads)
        bound.arguments["mask"] = mask
        return bound.args, bound.kwargs

    def end(self, module: nn.Module, args: Any, output: Any) -> None:
        call = self._running()
        if missing := sorted(self.axes.keys() - call.wires.keys()):
            raise ValueError(
                f"the pass did not make {', '.join(missing)}, so the cache would have a gap; "
                f"a stage that names wires in cached has to run in every pass."
            )
        call.commit()
        self.first = None

    def _running(self) -> Call:
        if self.call is None:
            raise RuntimeError(
                f"a stage of {type(self.attention).__name__} runs outside its pass, so the "
                f"cache misses it; call the attention itself, not .forward or one stage."
            )
        return self.call


class _Context(_Driver):
    """Cross-attention: the first pass that succeeds makes keys and values for all others."""

    def __init__(
        self, attention: Any, cache: KVCache, opener: int | None, positions: Any, context: Any
    ) -> None:
        super().__init__(attention, cache, opener)
        if positions is not None or cache.n_tokens:
            raise ValueError(
                "a context has no positions and fills a cache once; give neither positions nor "
                "a cache that holds tokens."
            )
        for path, stage in stages_of(attention).items():
            if "positions" in signature(stage.forward).parameters:
                raise TypeError(
                    f"{path}={type(stage).__name__} places queries behind the keys, but a "
                    f"context is next to them; use a stage without positions for "
                    f"cross-attention."
                )
        checks.tokens("context", context, attention.d_context, "d_context")
        self.context, self.known = context, _torch_private.version(context)
        self.weights: list[tuple[int, int, int]] | None = None
        self.kept: dict[str, Tensor] = {}

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.is_a_pass()
        bound = signature(module.forward).bind(*args, **kwargs)
        given = bound.arguments.get("context")
        name = type(module).__name__
        if given is None:
            raise ValueError(
                f"the cache of {name} holds a context, but none was given; for self-attention, "
                f"whose keys grow, use kv_cache without context."
            )
        if given is not self.context:
            raise ValueError(
                f"a context {tuple(given.shape)} came, but the block is about another tensor, "
                f"{tuple(self.context.shape)}; give the same one, or open another block."
            )
        if _torch_private.version(given) != self.known:
            raise ValueError(
                "the context was changed in place after the block had opened; open another "
                "block."
            )
        if self.weights is not None:
            if self.weights != self._weights():
                raise ValueError(
                    f"weights of {name} have changed since the keys of the context were made, "
                    f"as by an optimizer step; open another block."
                )
            bound.arguments["context"] = given[..., :0, :]
        self.call = self.cache.begin(given.shape[:-2], given.shape[-2], given.device)
        return bound.args, bound.kwargs

    def keep(self, wire: str, new: Tensor, copied: bool) -> Tensor:
        if self.weights is None and self.call is not None:
            return self.call.append(wire, new, self.axes[wire], copied=copied)
        kept = self.cache.wires[wire]
        return kept.clone() if copied else kept

    def end(self, module: nn.Module, args: Any, output: Any) -> None:
        if self.weights is None and self.call is not None:
            self.call.commit()
            self.weights = self._weights()

    def _weights(self) -> list[tuple[int, int, int]]:
        """Of all weights, where they are and how often they were written to."""
        return [
            (id(p), p.data_ptr(), _torch_private.version(p))
            for p in self.attention.parameters()
        ]


def _key_axis(alias: Any) -> int:
    names = shapes.axes(alias)
    return names.index("key") - len(names)


# --- whose pass it is ------------------------------------------------------------------------


def _task() -> Any:
    """The task of asyncio that runs, None outside of its loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _generator_that_opens(frame: FrameType | None) -> int | None:
    """The generator or coroutine in which the with block is, by the id of its frame.

    A generator that contextlib runs is a with block itself, and what counts is where that one
    was opened. A frame lives as long as the block is open in it, so its id is its own.
    """
    while frame is not None:
        caller = frame.f_back
        is_block = caller is not None and caller.f_code.co_filename == contextlib.__file__
        if frame.f_code.co_filename != contextlib.__file__ and not is_block:
            break
        frame = caller
    if frame is None or not frame.f_code.co_flags & _SUSPENDABLE:
        return None
    return id(frame)


def _runs(opener: int) -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and id(frame) != opener:
        frame = frame.f_back
    return frame is not None
