"""How much memory a call takes at its highest, in whatever code it runs.

Torch's profiler sees every buffer that its CPU allocator hands out and takes back, the scratch
inside of fused kernels included. What other libraries allocate by themselves, it does not see.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import torch


def peak_bytes(call: Callable[[], Any]) -> int:
    """The most bytes of CPU memory that are taken at once while ``call()`` runs.

    What was there before does not count, what the call returns does. A plain number that meets
    a tensor becomes a tensor of a few bytes, and counts too.

    >>> numbers = torch.ones(1000)
    >>> peak_bytes(lambda: numbers + numbers), peak_bytes(lambda: numbers.add_(numbers))
    (4000, 0)
    """
    with quiet(), torch.profiler.profile(activities=CPU, profile_memory=True) as seen:
        kept = call()
    del kept
    events = seen.profiler.kineto_results.events()
    memory = [e for e in events if e.name() == "[memory]" and e.device_type() == _DEVICE]
    in_order = sorted(memory, key=lambda e: e.start_ns())
    return max(accumulate((e.nbytes() for e in in_order), initial=0))


CPU = [torch.profiler.ProfilerActivity.CPU]
_DEVICE = torch._C._autograd.DeviceType.CPU


@contextmanager
def quiet() -> Iterator[None]:
    """Without the lines in which some profilers say on the error stream that they began."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
