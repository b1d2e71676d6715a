"""Hooks that act during a ``with`` block, in one thread and uncompiled.

Compiled code calls the hooks of the moment it was compiled and no others. So while a block is
open, whatever was compiled runs as it was written.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from mhsa_lib import _torch_private
from mhsa_lib._torch_private import compiler_is_loaded

Hook = Callable[..., Any]


class Hooks:
    """Forward hooks on modules while a block is open.

    A hook acts in the thread that opened the block, on the module it was given and on no copy
    of it. It also acts in torch's backward threads, where a checkpointed pass is computed
    again, so leave the block after the backward pass.

    Raises ``ValueError`` before torch 2.6, which cannot run compiled code uncompiled, for a
    compiled model, and ``RuntimeError`` inside a function that is being compiled, and in a call
    where ``nn.DataParallel`` runs replicas in threads of its own.

    >>> W, seen = nn.Linear(2, 2), []
    >>> with Hooks(W) as hooks:
    ...     hooks.after(W, lambda module, args, output: seen.append(output.shape))
    ...     y = W(torch.zeros(3, 2))
    >>> y = W(y)
    >>> seen
    [torch.Size([3, 2])]

    Parameters
    ----------
    model : the model that the modules are parts of
    """

    def __init__(self, model: nn.Module) -> None:
        if not hasattr(torch.compiler, "set_stance"):
            _refuse_compiled(model)
        self._stack, self.is_open = ExitStack(), False

    def __enter__(self) -> "Hooks":
        _uncompiled.enter()
        self._stack.callback(_uncompiled.leave)
        self.thread, self.is_open = threading.current_thread(), True
        return self

    def __exit__(self, *error: object) -> None:
        self.is_open = False  # a copy of a module that was made inside the block has the hook
        self._stack.close()

    def before(self, module: nn.Module, act: Hook, first: bool = False) -> None:
        """Call ``act(module, args, kwargs)`` before the module; it may return both changed."""
        register = module.register_forward_pre_hook
        self._add(register, module, act, prepend=first, with_kwargs=True)

    def after(
        self, module: nn.Module, act: Hook, first: bool = False, *, always: bool = False
    ) -> None:
        """Call ``act(module, args, output)`` after it; with ``always`` even if it failed."""
        self._add(module.register_forward_hook, module, act, prepend=first, always_call=always)

    def _add(self, register: Any, module: nn.Module, act: Any, **options: bool) -> None:
        def hook(called: nn.Module, *given: Any) -> Any:
            if not self.is_open:
                return None
            # An `always` hook runs after the refusal of another, and must not hide it.
            if _torch_private.is_replica(called) and not options.get("always_call"):
                raise RuntimeError(
                    f"nn.DataParallel runs replicas of {type(called).__name__} in threads of "
                    f"its own, where a block would miss them; call its .module in the block."
                )
            return act(called, *given) if called is module and self._acts() else None

        hook.act, hook.block = act, self  # type: ignore[attr-defined]
        # The first compilation of a process may be inside a block: then it breaks off here.
        with _registering:
            handle = register(_torch_private.never_compile(hook), **options)
        self._stack.callback(handle.remove)

    def _acts(self) -> bool:
        thread = threading.current_thread()
        # torch's backward threads were not started by Python. Other threads with such an entry,
        # as those of a C library's callbacks, run no backward pass.
        unknown = isinstance(thread, threading._DummyThread)
        return thread is self.thread or (unknown and _torch_private.in_backward_thread())


def watching(hook: Hook) -> Hook:
    """Mark a hook that only watches, so that a module with it can still be converted.

    >>> changes_nothing(watching(lambda module, args, output: None))
    True
    """
    hook.only_watches = True  # type: ignore[attr-defined]
    return hook


def changes_nothing(hook: Any) -> bool:
    """Return whether a hook only watches, or is in a copy left over from a closed block.

    >>> from copy import deepcopy
    >>> with Hooks(W := nn.Linear(2, 2)) as hooks:
    ...     hooks.before(W, print)
    ...     (inside,) = deepcopy(W)._forward_pre_hooks.values()
    ...     changes_nothing(inside)
    False
    >>> changes_nothing(inside)
    True
    """
    block = getattr(hook, "block", None)
    watches = getattr(getattr(hook, "act", hook), "only_watches", False)
    return watches or (block is not None and not block.is_open)


def acting(module: nn.Module) -> list[Hook]:
    """Return what this thread has registered with ``Hooks.before`` for the module.

    >>> with Hooks(W := nn.Linear(2, 2)) as hooks:
    ...     hooks.before(W, print)
    ...     acting(W)
    [<built-in function print>]
    """
    ours = [h for h in _torch_private.forward_pre_hooks(module) if hasattr(h, "block")]
    return [hook.act for hook in ours if hook.block.thread is threading.current_thread()]


def _refuse_compiled(model: nn.Module) -> None:
    for path, module in model.named_modules():
        if _torch_private.is_compiled(module):
            raise ValueError(
                f"{path or 'the model'} was compiled, and before torch 2.6 compiled code asks "
                f"for no new hooks; pass and call the module that was given to torch.compile, "
                f"or update torch."
            )


class _Uncompiled:
    """Runs what is compiled as it was written, from the first open block to the last."""

    # torch's stance belongs to the process and not to a thread, so blocks of several threads
    # that overlap are counted: the last one that closes restores what the first one found.
    def __init__(self) -> None:
        self._lock, self._n_open = threading.Lock(), 0
        self._stance: Any = None

    def enter(self) -> None:
        with self._lock:
            # Asking the compiler would import it, which takes seconds; before that there is
            # nothing compiled.
            known = hasattr(torch.compiler, "set_stance") and compiler_is_loaded()
            if known and self._stance is None:
                try:
                    self._stance = torch.compiler.set_stance("force_eager")
                except RuntimeError as error:
                    raise RuntimeError(
                        "trace, edit and kv_cache cannot be compiled; put the with block "
                        "around the compiled call, not into the compiled function."
                    ) from error
            self._n_open += 1

    def leave(self) -> None:
        with self._lock:
            self._n_open -= 1
            if not self._n_open and self._stance is not None:
                self._stance.__exit__(None, None, None)
                self._stance = None


_uncompiled = _Uncompiled()
_registering = threading.Lock()  # torch numbers hooks without a lock of its own
