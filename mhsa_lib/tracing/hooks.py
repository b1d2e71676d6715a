"""Hooks that act during a ``with`` block, in one thread and uncompiled."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from mhsa_lib import _torch_private

Hook = Callable[..., Any]


class Hooks:
    """Forward hooks on modules while a block is open.

    A hook acts in the thread that opened the block, on the module it was given and on no copy
    of it. It also acts in torch's backward threads, where a checkpointed pass is computed
    again, so leave the block after the backward pass. Compiled code calls the hooks of the
    moment it was compiled and no others, so while any block is open, whatever was compiled
    runs as it was written.

    Raises ``RuntimeError`` where the hooks would be missed: inside a function that is being
    compiled, and in the threads of ``nn.DataParallel``. ``model``, of which the modules are
    parts, must not be compiled before torch 2.6, or ``ValueError`` is raised.

    >>> W, seen = nn.Linear(2, 2), []
    >>> with Hooks(W) as hooks:
    ...     hooks.after(W, lambda module, args, output: seen.append(output.shape))
    ...     y = W(torch.zeros(3, 2))
    >>> y = W(y)
    >>> seen
    [torch.Size([3, 2])]
    """

    # torch's stance on compiled code belongs to the process and not to a thread, so blocks of
    # several threads that overlap are counted: the last one that closes restores what the
    # first one found. The lock also guards hooks, which torch numbers without one of its own.
    # It is reentrant, because the garbage collector may close a forgotten block at any time.
    _lock, _n_open = threading.RLock(), 0
    _stance: Any = None

    def __init__(self, model: nn.Module) -> None:
        has_stances = hasattr(torch.compiler, "set_stance")
        for path, module in model.named_modules():
            if not has_stances and _torch_private.is_compiled(module):
                raise ValueError(
                    f"{path or 'the model'} was compiled, and before torch 2.6 compiled code "
                    f"asks for no new hooks; pass and call the module that was given to "
                    f"torch.compile, or update torch."
                )
        self._stack, self.is_open = ExitStack(), False

    def __enter__(self) -> "Hooks":
        with Hooks._lock:
            Hooks._n_open += 1
            # Asking the compiler would import it, which takes seconds; before that there is
            # nothing compiled.
            loaded = _torch_private.compiler_is_loaded()
            if loaded and hasattr(torch.compiler, "set_stance") and Hooks._stance is None:
                try:
                    Hooks._stance = torch.compiler.set_stance("force_eager")
                except RuntimeError as error:
                    Hooks._n_open -= 1
                    raise RuntimeError(
                        "trace, edit and kv_cache cannot be compiled; put the with block "
                        "around the compiled call, not into the compiled function."
                    ) from error
        self.thread, self.is_open = threading.current_thread(), True
        return self

    def __exit__(self, *error: object) -> None:
        self.is_open = False  # a copy of a module that was made inside the block has the hook
        self._stack.close()
        with Hooks._lock:
            Hooks._n_open -= 1
            if not Hooks._n_open and Hooks._stance is not None:
                Hooks._stance.__exit__(None, None, None)
                Hooks._stance = None

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
        with Hooks._lock:
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

    >>> watching(lambda module, args, output: None).only_watches
    True
    """
    hook.only_watches = True  # type: ignore[attr-defined]
    return hook


def changes_nothing(hook: Any) -> bool:
    """Return whether a hook only watches, or is in a copy left over from a closed block.

    >>> changes_nothing(watching(lambda module, args, output: None)), changes_nothing(print)
    (True, False)
    """
    block = getattr(hook, "block", None)
    # transformers leaves hooks that copy outputs on every attention of a model that was ever
    # asked for its weights.
    collects = getattr(hook, "__module__", None) == "transformers.utils.output_capturing"
    watches = collects or getattr(getattr(hook, "act", hook), "only_watches", False)
    return watches or (block is not None and not block.is_open)


def acting(module: nn.Module) -> list[Hook]:
    """Return what this thread has registered with ``Hooks.before`` for the module.

    >>> acting(nn.Linear(2, 2))
    []
    """
    ours = [h for h in _torch_private.forward_pre_hooks(module) if hasattr(h, "block")]
    return [hook.act for hook in ours if hook.block.thread is threading.current_thread()]
