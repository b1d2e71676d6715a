"""Which library multiplies in float32 on a CPU: a switch, and a stopwatch for the default.

``F.linear`` in float32 goes to the BLAS that torch was built with, usually MKL. torch carries a
second library, oneDNN (``onednn``). Which of them is faster is a matter of the processor: on
some, MKL does not use the widest instructions.

So that a run can be repeated to the last bit, the choice can be fixed: by the environment,
``MHSA_LINEAR=auto``, ``torch`` or ``onednn``, and for a block by ``linear_by``. Only ``auto``,
which it is without either, measures.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_lib.fused import onednn

CHOICES = ("auto", "torch", "onednn")
"""Who multiplies: the faster one, ``F.linear`` always, or oneDNN wherever it can."""

CLEARLY = 0.75
"""oneDNN is taken where it needs less than this part of the time: not by chance of a clock."""


@contextmanager
def linear_by(choice: str) -> Iterator[None]:
    """Fix who computes the linear maps in this block, for this thread (or task) alone.

    ``conditions`` is one of ``CHOICES`` and goes before the environment's ``MHSA_LINEAR``. By
    ``torch``, weights that were packed are read unpacked, and no attention runs in tiles.

    >>> with linear_by("torch"):
    ...     is_chosen()
    False
    """
    token = _choice.set(_known("linear_by", choice))
    try:
        yield
    finally:
        _choice.reset(token)


_choice: ContextVar[str | None] = ContextVar("linear_by", default=None)


def is_chosen() -> bool:
    """Whether oneDNN computes float32 here: as ``linear_by`` or ``MHSA_LINEAR`` say, or faster.

    Raises ``ValueError`` for an ``MHSA_LINEAR`` that is none of ``CHOICES``, or onednn where
    this torch has none.
    """
    choice = chosen()
    return is_faster() if choice == "auto" else choice == "onednn"


@cache
def is_faster() -> bool:
    """Whether oneDNN is clearly faster than ``F.linear`` in float32 here.

    Measured once, in about 20 milliseconds: the best of several products of 256 rows, in time
    of the processor, which does not count what other programs do meanwhile. A thread of its own
    measures: default devices, modes that watch or fake tensors, autocast and transforms belong
    to the thread that has set them.
    """
    if not onednn.is_here():
        return False
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_measured).result()


def _known(name: str, choice: str) -> str:
    if choice not in CHOICES:
        raise ValueError(f"{name}={choice!r} is unknown; choose {', '.join(CHOICES)}.")
    if choice == "onednn" and not onednn.is_here():
        raise ValueError(
            f"{name}='onednn', but this PyTorch cannot call oneDNN; choose auto or torch."
        )
    return choice


def chosen() -> str:
    """One of ``CHOICES``: what ``linear_by`` says, else the environment, else auto."""
    return _choice.get() or _by_environment()


@cache
def _by_environment() -> str:
    return _known("MHSA_LINEAR", os.environ.get("MHSA_LINEAR") or "auto")


def _measured() -> bool:
    options: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
    x, weight = torch.ones(256, 512, **options), torch.ones(512, 512, **options)
    with torch.no_grad():
        pairs = [[_seconds(f, x, weight) for f in (onednn.times, F.linear)] for _ in range(6)]
    ours, theirs = (min(column[1:]) for column in zip(*pairs, strict=True))
    return ours < CLEARLY * theirs


def _seconds(f: Callable[..., Any], *args: Tensor) -> float:
    start = time.process_time()
    f(*args)
    return time.process_time() - start
