"""What may fail halfway: how it is made, called, looked at, and what is right afterwards."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import KVCache, kv_cache, masks
from mhsa_lib.tracing import Wires, trace
from mhsa_lib.tracing.hooks import Hooks
from tests.helpers.halfway import ModuleState, bits
from tests.helpers.padded import right_padded
from tests.mhsa_lib.cache.comparing import kept


@dataclass
class Subject:
    """Objects of one try: ``call`` may fail, ``after`` ``repeats`` it or goes on."""

    call: Callable[[], Any]
    state: Callable[[], Any]
    after: Callable[[], Any] = lambda: None
    stack: ExitStack = field(default_factory=ExitStack)
    repeats: bool = True

    def close(self) -> None:
        self.stack.close()


def of_cache(cache: KVCache) -> Any:
    positions = None if cache._at is None else cache._at.tolist()
    return kept(cache) if cache.n_tokens else (cache.lengths, cache.wires), positions


def a_pass(make: Callable[[], nn.Module], x: Tensor, mask: Any, grad: bool) -> Subject:
    """One pass of any attention; one in training leaves noise drawn."""
    module = make()
    weights = ModuleState(module, "random")

    def call() -> Tensor:
        torch.manual_seed(1)
        with torch.set_grad_enabled(grad):
            return module(x, mask=mask)

    return Subject(call, lambda: (weights(), bits(x)), call)


def cached(
    make: Callable[[], nn.Module],
    sizes: dict[str, Any],
    x: Tensor,
    steps: list[int],
    given: bool,
) -> Subject:
    """Steps through a cache, of which one in the middle may fail; the later ones follow."""
    module, cache, stack = make(), KVCache(**sizes), ExitStack()
    weights = ModuleState(module)
    parts = [*x.split(steps, dim=1)]
    rule = masks.causal

    def step(part: Tensor) -> Tensor:
        with torch.no_grad():
            return module(part, mask=rule, cache=cache) if given else module(part, mask=rule)

    if not given:
        stack.enter_context(kv_cache(module, cache=cache))
    with cache.at(right_padded([parts[0].shape[1], 1])):
        step(parts[0])
    return Subject(
        lambda: step(parts[1]),
        lambda: (weights(), of_cache(cache), bits(x)),
        lambda: torch.cat([step(part) for part in parts[1:]], dim=1),
        stack,
        repeats=False,
    )


def changed(sizes: dict[str, Any], x: Tensor, change: Callable[[KVCache], Any]) -> Subject:
    """Keys and values that were kept; a change of them may fail, and the next token follows."""
    cache = KVCache(**sizes)
    k, v, step = x[..., :4].unsqueeze(1), x[..., 4:7].unsqueeze(1), x[:, :1, 7:11].unsqueeze(1)
    n = k.shape[2]
    cache.update(k, v, right_padded([n, max(1, n - 1)]))

    def after() -> Any:
        change(cache)
        return cache.update(step, step[..., :3])

    return Subject(lambda: change(cache), lambda: of_cache(cache), after, repeats=False)


def in_a_block(
    make: Callable[[], nn.Module], x: Tensor, block: Callable[[nn.Module], Any]
) -> Subject:
    """A pass inside a ``with`` block, which a failure leaves as well."""
    module = make()
    weights = ModuleState(module)

    def call() -> Any:
        with block(module) as found:
            y = module(x, mask=masks.causal)
        return y, dict(found) if isinstance(found, Wires) else None

    def after() -> Any:
        return module(x, mask=masks.causal), call()

    return Subject(call, lambda: (weights(), bits(x), Hooks._n_open), after)


def watched(make: Callable[[], nn.Module], x: Tensor) -> Subject:
    """A second pass in a trace that stays open: wires are of one pass, all or the first."""
    module, stack = make(), ExitStack()
    weights = ModuleState(module)
    wires = stack.enter_context(trace(module))
    module(x)
    first, names = dict(wires), list(wires)

    def call() -> Tensor:
        return module(2 * x)

    def state() -> Any:
        return weights()

    def after() -> Any:
        found, second = dict(wires), list(wires)
        assert second == names[: len(second)]
        y = call()
        whole = dict(wires)
        of_one = [
            all(torch.equal(value, wanted[name]) for name, value in found.items())
            for wanted in (first, whole)
        ]
        assert any(of_one), "wires of two passes"
        return y, whole

    return Subject(call, state, after, stack)


def of_context(make: Callable[[], nn.Module], x: Tensor) -> Subject:
    """The keys of a context, made in the first call and kept."""
    module, context, stack = make(), x[:, :, :12].flip(1).clone(), ExitStack()
    weights = ModuleState(module)
    cache = stack.enter_context(kv_cache(module, context=context))
    return Subject(
        lambda: module(x, context),
        lambda: (weights(), of_cache(cache), bits(context)),
        lambda: [module(part, context) for part in x.split(1, dim=1)],
        stack,
    )


def converted(
    make: Callable[[], nn.Module], x: Tensor, convert: Callable[[Any], Any]
) -> Subject:
    """A conversion, which never changes what it reads, and draws no random number."""
    source = make()
    weights = ModuleState(source)

    def after() -> Any:
        return convert(source)(x, mask=masks.causal)

    return Subject(lambda: convert(source), lambda: weights(), after)
