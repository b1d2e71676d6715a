"""Call what a reader wrote: whatever it does, it comes back and leaves nothing changed.

An endless loop is ended after ``LIMIT_S`` seconds. Two things cannot be survived from inside
one process: a loop inside C, which no signal handler interrupts, and a segmentation fault. We
start no other process for them, because an answer may be anything that a notebook defines.
"""

import inspect
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LIMIT_S = 4.0


class OutOfTime(BaseException):
    """A call was ended. No ``Exception``, so that the reader's ``except`` lets it through."""

    def __str__(self) -> str:
        return f"it had not returned after {LIMIT_S:g} seconds. Is there a loop without an end?"


@dataclass(frozen=True)
class Call:
    """What came of a call.

    Parameters
    ----------
    found : what it returned
    raised : what it raised instead
    damaged : names of the arguments that it changed
    """

    found: Any = None
    raised: BaseException | None = None
    damaged: tuple[str, ...] = ()

    @property
    def outcome(self) -> Any:
        """What it returned, or the type of its error."""
        return self.found if self.raised is None else type(self.raised)


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Call:
    """Call a function and tell what came of it.

    It gets copies, so that what it does to them reaches neither the next call nor our answer.
    """
    given, found, raised = copies(arguments), None, None
    try:
        with _state_kept():
            found = _within(lambda: by_name_or_place(function, given), LIMIT_S)
    except BaseException as error:  # also SystemExit: a reader's code may raise anything
        raised = error
    if inspect.iscoroutine(found):
        found.close()  # otherwise Python warns that it was never awaited
    changed = [name for name, value in arguments.items() if not _same(given[name], value)]
    return Call(found, raised, tuple(changed))


def copies(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same arguments in other memory."""
    return {name: _copied(value) for name, value in arguments.items()}


def words(error: BaseException) -> str:
    """The type and the text of an error, also where asking for its text fails."""
    try:
        said = str(error)
    except Exception:
        said = "(its text cannot be shown)"
    return f"{type(error).__name__}: {said}"


def by_name_or_place(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function by the names of its arguments, or in their order if it has others."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not say
        return function(*arguments.values())
    try:
        signature.bind(**arguments)
    except TypeError:  # the reader has chosen other names
        return function(*_in_order(signature, arguments))
    return function(**arguments)


def _in_order(signature: inspect.Signature, arguments: dict[str, Any]) -> list[Any]:
    values = list(arguments.values())
    try:
        signature.bind(*values)
    except TypeError:
        asked = ", ".join(arguments)
        raise TypeError(f"it takes {signature}, and is called with ({asked})") from None
    return values


def _within(function: Callable[[], Any], seconds: float) -> Any:
    """Call a function, and raise ``OutOfTime`` if it takes too long."""
    main = threading.current_thread() is threading.main_thread()
    if main and hasattr(signal, "setitimer"):
        return _with_alarm(function, seconds)
    return _in_thread(function, seconds)


def _with_alarm(function: Callable[[], Any], seconds: float) -> Any:
    armed = True

    def stop(*_: Any) -> None:
        if armed:
            raise OutOfTime

    started, handler = time.monotonic(), signal.signal(signal.SIGALRM, stop)
    # It rings again each second, for a loop that swallows whatever is raised in it.
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        return function()
    finally:
        armed = False
        rest = max(left - (time.monotonic() - started), 1e-3) if left else 0.0
        signal.setitimer(signal.ITIMER_REAL, rest, interval)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)


def _in_thread(function: Callable[[], Any], seconds: float) -> Any:
    """The same where there is no alarm; there the thread goes on, but nobody waits for it."""
    came: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            came.append((function(), None))
        except BaseException as error:  # raised again below
            came.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # Python in a browser has no threads
        return function()
    thread.join(seconds)
    if not came:
        raise OutOfTime
    found, error = came[0]
    if error is not None:
        raise error
    return found


@contextmanager
def _state_kept() -> Iterator[None]:
    """Put back what an answer may change for all code that runs after it."""
    dtype, grad, threads = (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
    )
    drawn, drawn_by_torch, limit = (
        random.getstate(),
        torch.get_rng_state(),
        sys.getrecursionlimit(),
    )
    numpy = sys.modules.get("numpy")
    drawn_by_numpy = numpy.random.get_state() if numpy else None
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        sys.setrecursionlimit(limit)
        random.setstate(drawn)
        torch.set_rng_state(drawn_by_torch)
        if numpy:
            numpy.random.set_state(drawn_by_numpy)


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone()
    return list(value) if isinstance(value, list) else value


def _same(now: Any, before: Any) -> bool:
    """Whether an argument is still what it was."""
    if not isinstance(before, Tensor):
        return bool(now == before)
    try:
        return now.dtype == before.dtype and torch.equal(now, before)
    except Exception:  # it has become something that cannot be compared
        return False
