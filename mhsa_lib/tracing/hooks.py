"""Hooks for the length of a ``with`` block: in one thread, uncompiled, gone on exit.

Compiled code has the hooks of the moment it was compiled and asks for no others. So while a
block is open, whatever ``torch.compile`` has compiled runs as it was written: a compiled
attention, one held by a compiled model or function, one that is compiled inside the block.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

import torch
from torch import nn

Hook = TypeVar("Hook", bound=Callable[..., Any])


class Hooks:
    """What listens to modules while a block is open.

    A hook acts in the thread that opened the block, on the module it was given and on no copy
    of it. It also acts in the backward threads of torch, where a checkpointed pass is computed
    again: leave the block after the backward pass. While a block is open, what was compiled
    before runs uncompiled in every thread.

    Parameters
    ----------
    model : what the modules are parts of

    Raises
    ------
    ValueError : before torch 2.6, which cannot be told to, for a model that was compiled
    RuntimeError : inside a function that is being compiled, and in a call where
        ``nn.DataParallel`` runs replicas in threads of its own

    Examples
    --------
    >>> W, seen = nn.Linear(2, 2), []
    >>> with Hooks(W) as hooks:
    ...     hooks.after(W, lambda module, args, output: seen.append(output.shape))
    ...     y = W(torch.zeros(3, 2))
    >>> y = W(y)
    >>> seen
    [torch.Size([3, 2])]
    """

    def __init__(self, model: nn.Module) -> None:
        if not hasattr(torch.compiler, "set_stance"):
            _not_compiled(model)
        self._stack, self._is_open = ExitStack(), False

    def __enter__(self) -> "Hooks":
        _interpreted.enter()
        self._stack.callback(_interpreted.leave)
        self._thread, self._is_open = threading.current_thread(), True
        return self

    def __exit__(self, *error: object) -> None:
        self._is_open = False  # a copy that was made of a module has kept the hook
        self._stack.close()

    def before(self, module: nn.Module, act: Callable[..., Any], first: bool = False) -> None:
        """``act(module, args, kwargs)`` before the module; may return both anew."""
        hook = self._hook(module, act)
        with _registering:
            handle = module.register_forward_pre_hook(hook, with_kwargs=True, prepend=first)
        self._stack.callback(handle.remove)

    def after(
        self,
        module: nn.Module,
        act: Callable[..., Any],
        first: bool = False,
        *,
        always: bool = False,
    ) -> None:
        """``act(module, args, output)`` after it, ``always`` also where it has failed."""
        hook = self._hook(module, act, always)
        with _registering:
            handle = module.register_forward_hook(hook, prepend=first, always_call=always)
        self._stack.callback(handle.remove)

    def _hook(
        self, module: nn.Module, act: Callable[..., Any], always: bool = False
    ) -> Callable[..., Any]:
        def hook(called: nn.Module, *given: Any) -> Any:
            if not self._is_open:
                return None
            if getattr(called, "_is_replica", False) and not always:
                raise RuntimeError(
                    f"nn.DataParallel runs replicas of {type(called).__name__} in threads of "
                    f"its own, where a block would miss them; call its .module in the block."
                )
            return act(called, *given) if called is module and self._acts() else None

        hook.act = act  # type: ignore[attr-defined]
        hook.only_watches = getattr(act, "only_watches", False)  # type: ignore[attr-defined]
        hook.hooks = self  # type: ignore[attr-defined]
        # The first compilation of a process may be inside a block: then it breaks off here.
        hook._torchdynamo_disable = True  # type: ignore[attr-defined]
        return hook

    def _acts(self) -> bool:
        thread = threading.current_thread()
        if thread is self._thread:
            return True
        # A thread that Python did not start and that runs a backward pass is one of torch's.
        unknown = isinstance(thread, threading._DummyThread)
        return unknown and torch._C._current_graph_task_id() != -1


def watching(hook: Hook) -> Hook:
    """Mark a hook that only watches: what carries it can be converted all the same.

    >>> changes_nothing(watching(lambda module, args, output: None))
    True
    """
    hook.only_watches = True  # type: ignore[attr-defined]
    return hook


def changes_nothing(hook: Any) -> bool:
    """Whether a hook watches, or is that of a block that was left, which a copy has kept.

    >>> from copy import deepcopy
    >>> with Hooks(W := nn.Linear(2, 2)) as hooks:
    ...     hooks.before(W, print)
    ...     (inside,) = deepcopy(W)._forward_pre_hooks.values()
    ...     changes_nothing(inside)
    False
    >>> changes_nothing(inside)
    True
    """
    if getattr(hook, "__module__", None) == "transformers.utils.output_capturing":
        return True  # installed where somebody asks a model for its weights
    block = getattr(hook, "hooks", None)
    return getattr(hook, "only_watches", False) or (block is not None and not block._is_open)


def acting(module: nn.Module) -> list[Callable[..., Any]]:
    """What this thread has told ``Hooks.before`` to do before the module.

    >>> with Hooks(W := nn.Linear(2, 2)) as hooks:
    ...     hooks.before(W, print)
    ...     acting(W)
    [<built-in function print>]
    """
    given: list[Any] = [h for h in module._forward_pre_hooks.values() if hasattr(h, "hooks")]
    return [hook.act for hook in given if hook.hooks._thread is threading.current_thread()]


def _not_compiled(model: nn.Module) -> None:
    for path, module in model.named_modules():
        if module._compiled_call_impl is not None or hasattr(module, "_orig_mod"):
            raise ValueError(
                f"{path or 'the model'} was compiled, and before torch 2.6 compiled code asks "
                f"for no new hooks; pass and call the module that was given to torch.compile, "
                f"or update torch."
            )


class _Interpreted:
    """How many blocks are open in all threads: while there are any, nothing is compiled."""

    def __init__(self) -> None:
        self._lock, self._n_open = threading.Lock(), 0
        self._stance: Any = None

    def enter(self) -> None:
        with self._lock:
            # Importing the compiler takes seconds; before that there is nothing compiled.
            known = hasattr(torch.compiler, "set_stance") and "torch._dynamo" in sys.modules
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


_interpreted = _Interpreted()
_registering = threading.Lock()  # torch numbers hooks without one
