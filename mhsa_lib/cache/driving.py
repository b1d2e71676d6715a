"""Drive a cache from the five stages of attentions, by hooks, while a block runs.

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
from mhsa_lib.cache.memory import Call, KVCache, whole_numbers
from mhsa_lib.execution_mode import is_transformed
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing.find import find_attentions
from mhsa_lib.tracing.hooks import Hooks, acting


@contextlib.contextmanager
def kv_cache(
    model: nn.Module,
    positions: Any = None,
    context: Tensor | None = None,
    cache: KVCache | None = None,
) -> Iterator[KVCache]:
    """Keep what the attentions in ``model`` need for later tokens while the block runs.

    Every call continues the sequences of the calls before it, with gradients into them. Give
    each the mask that one pass over the whole text would get; several tokens need one, because
    without it each would attend to later ones. A call that fails leaves the cache as it was.
    With a ``context``, the keys and values of cross-attention are computed once: every call is
    given this same tensor, and its numbers are those without the block.

    Of a model with several attentions, call the model: its tokens count once, for all of them,
    when the whole call has succeeded. One cache keeps all wires, each under the path of its
    attention. With a ``context``, attentions that are given that tensor read it, and the others
    fill the cache that the block yields.

    A ``trace`` sees the wires with all tokens. An ``edit`` inside changes what is kept; one
    outside acts on all tokens, every time. Stages other than ``attend`` are taken to treat
    every token on its own. The block belongs to the thread that opens it, the task that makes
    its first call, and to a generator only while that runs.

    Parameters
    ----------
    model : an attention of this library, or a module that holds one or more
    positions : of the tokens in the first call, as for ``KVCache.at``
    context : what a cross-attention reads
    cache : where to keep it; a new ``KVCache()``, which grows, when not given

    Raises
    ------
    RuntimeError : in the call, for one that does not belong to the block
    ValueError : in the call, for several tokens without a mask, and for what does not continue
        the cache, be it batch, device, dtype, room, positions, the context or weights
    TypeError : at once, for stages that do not say what to keep, or place keys of a context,
        and for a model of which only some attentions have stages

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
    attentions: dict[str, Any] = find_attentions(model)
    several = len(attentions) > 1
    _check_stages(model, attentions)
    cache = KVCache() if cache is None else cache
    block = _Block(model if several else next(iter(attentions.values())), cache, positions)
    if context is not None:
        block.context = context
        if several:
            block.context_cache = KVCache()
        else:
            _check_context(block.root, context, cache, positions)
    with Hooks(model) as hooks:
        for path, attention in attentions.items():
            layer = _Layer(block, attention, f"{path}." * several)
            hooks.before(attention, layer.begin, first=True)
            for stage in stages_of(attention).values():
                if stage.cached:
                    hooks.after(stage, layer.extend, first=True)
                if "positions" in _arguments(stage):
                    hooks.before(stage, layer.place, first=True)
            hooks.before(attention.attend, layer.attend, first=True)
            hooks.after(attention, layer.leave, always=True)
        hooks.before(block.root, block.open, first=True)
        hooks.after(block.root, block.commit)
        hooks.after(block.root, block.leave, always=True)
        yield cache


def _arguments(module: Any) -> list[str]:
    return [] if module is None else list(signature(module.forward).parameters)


def _check_stages(model: nn.Module, attentions: dict[str, Any]) -> None:
    """Refuse attentions that have a cache, or whose stages do not say what to keep."""
    odd = {}
    for path, attention in attentions.items():
        name = type(attention).__name__
        if any(isinstance(getattr(a, "__self__", None), _Layer) for a in acting(attention)):
            raise ValueError(
                f"{name} has a cache already; use that of the with block around this one."
            )
        takes, attends = _arguments(attention), _arguments(getattr(attention, "attend", None))
        parts = [getattr(attention, n) for n in ("project", "split") if hasattr(attention, n)]
        plain = [type(part).__name__ for part in parts if not stages_of(part)]
        cached = [wire for stage in stages_of(attention).values() for wire in stage.cached]
        if "x" not in takes or "mask" not in attends or plain or not cached:
            odd[path] = (
                f"{name} takes {takes}, its attend {attends}, its stages name {cached}, and no "
                f"Stage is {plain}"
            )
    if len(attentions) > 1:
        # One without the cache would attend to the new tokens alone. That of another library
        # is known by its name only.
        for path, module in model.named_modules():
            name = type(module).__name__
            is_foreign = name.endswith("Attention") and not stages_of(module)
            if is_foreign or hasattr(module, "to_attention"):
                odd[path] = (
                    f"{name} shows no stages, which to_attention() or a conversion gives"
                )
    if odd:
        where = f"{checks.few([*odd])}: " if len(attentions) > 1 else ""
        raise TypeError(
            f"{where}kv_cache needs forward(x, context, mask), attend(q, k, v, mask), and "
            f"Stages that name in cached what later tokens need, as Split does with k_heads "
            f"and v_heads; {next(iter(odd.values()))}."
        )


def _check_context(attention: Any, context: Tensor, cache: KVCache, positions: Any) -> None:
    if positions is not None or cache.n_tokens or cache.ring is not None:
        raise ValueError(
            f"a context has no positions and fills a cache once; give no positions and an "
            f"empty cache without a window, not {positions} and {cache}."
        )
    for path, stage in stages_of(attention).items():
        if "positions" in _arguments(stage):
            raise _no_place(path, stage)
    checks.tokens("context", context, attention.d_context, "d_context")


def _no_place(path: str, stage: nn.Module) -> TypeError:
    return TypeError(
        f"{path}={type(stage).__name__} places queries behind the keys, but a context is next "
        f"to them; use a stage without positions."
    )


class _Block:
    """A with block: whose calls it takes, and which of them runs."""

    def __init__(self, root: nn.Module, cache: KVCache, positions: Any) -> None:
        # What is called as a whole: the model, or an attention that is the only one in it.
        self.root, self.is_running = root, False
        self.transformed, self.task = is_transformed(), _task()
        self.opener = _generator_that_opens()
        self.first = None if positions is None else whole_numbers("positions", positions)
        self.cache, self.context_cache = cache, cache
        self.context: Any = None
        self.calls: dict[KVCache, Call] = {}

    def open(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
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
                name = type(self.root).__name__
                raise RuntimeError(f"this call of {name} does not belong to the block: {why}.")
        # What an interrupt left behind is dropped: it runs no hook.
        self.calls, self.is_running = {}, True

    def begin(self, cache: KVCache, x: Tensor, prefix: str) -> Call:
        """Begin a call with the first attention; the others bring the same tokens."""
        comes = tuple(x.shape[:-2]), x.shape[-2], x.device
        if cache not in self.calls:
            is_first = cache is self.cache and cache._at is None
            self.calls[cache] = cache.begin(*comes, self.first if is_first else None)
        call = self.calls[cache]
        others = call.state.batch, call.n_tokens, call.state.device
        if comes != others:
            raise ValueError(
                f"{prefix[:-1]} reads {comes[1]} tokens of batch {comes[0]} on {comes[2]}, but "
                f"an attention before it {others[1]} of {others[0]} on {others[2]}; cache a "
                f"part of the model in which all attentions read the same tokens."
            )
        return call

    def commit(self, module: nn.Module, args: Any, output: Any) -> None:
        for call in self.calls.values():  # all of them, before one counts
            call.check()
        for call in self.calls.values():
            call.commit()
        self.first = None

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self.calls, self.is_running = {}, False


class _Layer:
    """What the hooks do in one attention."""

    def __init__(self, block: _Block, attention: Any, prefix: str) -> None:
        self.block, self.attention, self.prefix = block, attention, prefix
        self.call: Call | None = None
        self.kept: dict[str, Tensor] | None = None
        self.crosses, self.made_of = False, list[Any]()
        self.axes = {}
        for stage in stages_of(attention).values():
            for wire in stage.cached:
                names = shapes.axes(stage.wires[wire])
                self.axes[wire] = names.index("key") - len(names)

    def begin(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        block, name = self.block, type(module).__name__
        if not block.is_running:
            raise RuntimeError(
                f"{self.prefix[:-1]} was called outside a call of {type(block.root).__name__}, "
                f"whose tokens count as a whole; call the model, or open a block for a part."
            )
        bound = signature(module.forward).bind(*args, **kwargs)
        x, context = bound.arguments["x"], bound.arguments.get("context")
        # A single attention reads the context of its block in every call.
        reads = context is block.context or not self.prefix
        self.call, self.kept, self.crosses = None, None, reads and block.context is not None
        if not self.crosses:
            checks.no_context(x, context)
            checks.tokens("x", x, self.attention.d_model)
            self.call = block.begin(block.cache, x, self.prefix)
            return None
        if context is not block.context:
            came = None if context is None else tuple(context.shape)
            raise ValueError(
                f"the cache of {name} holds a context {tuple(block.context.shape)}, but "
                f"another tensor came, {came}; give the same one, or open another block."
            )
        # The first call that succeeds makes keys and values for all others.
        if not block.context_cache.wires:
            self.call = block.begin(block.context_cache, context, self.prefix)
            self.made_of = self.versions()
            return None
        if self.made_of != self.versions():
            raise ValueError(
                f"the context or weights of {name} have changed since its keys were made, as "
                f"by an optimizer step; open another block."
            )
        self.kept = block.context_cache.wires
        bound.arguments["context"] = context[..., :0, :]
        return bound.args, bound.kwargs

    def versions(self) -> list[Any]:
        """How often the context and all weights were written to, and where the weights are."""
        version, weights = _torch_private.version, self.attention.parameters()
        return [
            version(self.block.context),
            *[(id(p), p.data_ptr(), version(p)) for p in weights],
        ]

    def place(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        # A stage that rotates by position has to know where the tokens of the pass are.
        call = self.running()
        if self.crosses:
            raise _no_place(self.prefix[:-1], module)
        return args, kwargs | {"positions": call.positions}

    def extend(self, stage: Stage, args: tuple[Any, ...], output: Any) -> Any:
        """Join the wires of the pass with those of the tokens before."""
        values, attend = stage.named(output), self.attention.attend
        listened = _torch_private.forward_hooks(stage)[1:]
        listened += _torch_private.forward_pre_hooks(attend)[1:]
        for wire in stage.cached:
            name = self.prefix + wire
            if self.kept is not None:
                kept = self.kept[name]
            else:
                kept = self.running().append(name, values[wire], self.axes[wire])
            # Whoever else listens may change in place what it is given, and the cache must not
            # change with it. While nobody does, the copy is saved.
            values[wire] = kept.clone() if listened else kept
        joined = tuple(values.values())
        return joined if isinstance(output, tuple) else joined[0]

    def attend(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        """Give ``attend`` the mask over all tokens; one over a context stays as it is."""
        if self.crosses:
            return None
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

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self.call = self.kept = None

    def running(self) -> Call:
        if self.call is None:
            raise RuntimeError(
                f"a stage of {type(self.attention).__name__} runs outside its pass, so the "
                f"cache misses it; call the attention itself, not .forward or one stage."
            )
        return self.call


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
