"""Let the n-th step of a call fail, for every n: an operation of torch, a module, a line."""

import hashlib
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

ERRORS = (RuntimeError, MemoryError, torch.OutOfMemoryError, KeyboardInterrupt, ValueError)
MOST = 20_000


class Injected:
    """Counts steps and raises at one of them; ``raised`` is None if there are fewer."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.at, self.error, self.count = at, error, 0
        self.raised: BaseException | None = None

    def step(self) -> None:
        self.count += 1
        if self.count == self.at + 1:
            self.raised = self.error("injected")
            raise self.raised


class _Operations(TorchDispatchMode):
    def __init__(self, injected: Injected, after: bool) -> None:
        super().__init__()
        self.injected, self.after = injected, after

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if not self.after:
            self.injected.step()
        result = func(*args, **(kwargs or {}))
        if self.after:  # it has written what it writes, and nobody hears of it
            self.injected.step()
        return result


@contextmanager
def operations(injected: Injected, after: bool = False) -> Iterator[None]:
    """Fail before, or after, an operation of torch."""
    with _Operations(injected, after):
        yield


@contextmanager
def modules(injected: Injected, after: bool = False) -> Iterator[None]:
    """Fail before, or after, a module of whatever kind."""
    register = register_module_forward_hook if after else register_module_forward_pre_hook
    handle = register(lambda *_: injected.step())
    try:
        yield
    finally:
        handle.remove()


# Python itself promises nothing to an interrupt in the lines that open and close a block.
OPENING = {"__enter__", "__exit__", "_add", "trace", "edit", "kv_cache"}
KEYWORDS = ("with ", "try:", "finally:")


@contextmanager
def lines(injected: Injected, *packages: str) -> Iterator[None]:
    """Fail at a line of Python in these packages, as an interrupt may."""

    def each(frame, event, _):
        if event == "line" and injected.raised is None:
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            if not line.strip().startswith(KEYWORDS):
                injected.step()
        return each

    def call(frame, event, _):
        if frame.f_code.co_name in OPENING:
            return None
        return each if frame.f_globals.get("__name__", "").startswith(packages) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def every_step(
    make: Callable[[], Any],
    run: Callable[[Any], Any],
    check: Callable[[Any], None],
    inject: Callable[[Injected], Any],
    error: type[BaseException],
    state: Callable[[Any], Any],
    stride: int = 1,
    done: Any = None,
) -> int:
    """Fail at one step after the other, each time with a new subject, until none fails.

    Then the subject is as before, or ``done`` as after a call: an interrupt may come between
    its last assignment and its return. ``check`` is given a subject that is as before. Returns
    the number of steps that were tried.
    """
    for at in range(ERRORS.index(error) % stride, MOST, stride):
        subject = make()
        before, modes = state(subject), len(_get_current_dispatch_mode_stack())
        injected = Injected(at, error)
        try:
            with inject(injected):
                run(subject)
        except BaseException as found:
            chain = found
            while chain is not None and chain is not injected.raised:
                chain = chain.__cause__ or chain.__context__
            assert chain is not None, f"step {at} failed by itself"
        else:
            if injected.raised is None:
                return at
        try:
            counts = state(subject) == done
            if not counts:
                assert state(subject) == before
            if not counts or subject.repeats:
                check(subject)
            subject.close()
            assert len(_get_current_dispatch_mode_stack()) == modes, "a mode is left"
        except BaseException as found:
            found.add_note(f"after step {at}, {error.__name__}")
            raise
    raise AssertionError(f"more than {MOST} steps")


def bits(tensor: Tensor | None) -> Any:
    """A tensor as a value: equal if every bit is, NaN included."""
    if tensor is None:
        return None
    plain = tensor.detach().cpu().contiguous()
    number = hashlib.sha1(plain.reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()
    return tuple(tensor.shape), tensor.dtype, tensor.requires_grad, number


class ModuleState:
    """Weights, gradients, buffers, modes, hooks, attributes and the generator of torch."""

    def __init__(self, module: nn.Module, *besides: str) -> None:
        self.module, self.own, self.besides = module, dict(self.tensors(module)), besides

    @staticmethod
    def tensors(module: nn.Module) -> Iterator[tuple[Any, Tensor | None]]:
        for path, part in module.named_modules():
            for name, t in [
                *vars(part)["_parameters"].items(),
                *vars(part)["_buffers"].items(),
            ]:
                yield (path, name), t

    def __call__(self) -> Any:
        found: dict[Any, Any] = {"random": bits(torch.get_rng_state())}
        for name, t in self.tensors(self.module):
            found[name] = t is self.own.get(name), bits(t), bits(None if t is None else t.grad)
        for path, part in self.module.named_modules():
            own = vars(part)
            tables = {name: len(own[name]) for name in own if "hooks" in name and own[name]}
            found[path] = part.training, tables, type(part), sorted(own)
            for name, value in own.items():
                if isinstance(value, Tensor):
                    found[path, name] = bits(value)
                elif isinstance(value, bool | int | float | str | tuple):
                    found[path, name] = repr(value)
        return {key: value for key, value in found.items() if key not in self.besides}
