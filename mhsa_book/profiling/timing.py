"""How long a call takes, however busy the machine is.

Other programs only ever make a run slower, so the shortest of several runs is kept; and with
``one_core`` the time at work counts instead of the time on the wall.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def one_core() -> Iterator[None]:
    """Let torch use one core of the CPU while the block runs.

    >>> with one_core():
    ...     torch.get_num_threads()
    1
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def fastest(
    calls: Iterable[Callable[[], Any]], device: torch.device | str = "cpu", budget: float = 0.3
) -> list[float]:
    """The shortest run of each call, in seconds: of five, and of more while ``budget`` lasts.

    Calls take turns, so that a busy moment of the machine meets all of them. If torch uses one
    thread of a CPU, only the time that this thread was at work counts.

    >>> a, b = torch.ones(16, 16), torch.ones(256, 256)
    >>> small, large = fastest([lambda: a @ a, lambda: b @ b])
    >>> small < large
    True
    """
    calls, device = list(calls), torch.device(device)
    now, wait = _clock(device), _waiting(device)
    best = [math.inf] * len(calls)
    stop = time.perf_counter() + budget
    runs = -1  # the first warms up and does not count
    while runs < 5 or time.perf_counter() < stop:
        for i, call in enumerate(calls):
            wait()
            start = now()
            call()
            wait()
            if runs >= 0:
                best[i] = min(best[i], now() - start)
        runs += 1
    return best


def shortest(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The smallest number of every entry; the runs have the same entries.

    One burst of other work may last longer than one measurement, but hardly than several.

    >>> shortest([{"scores": 3.0, "mix": 2.0}, {"scores": 1.0, "mix": 4.0}])
    {'scores': 1.0, 'mix': 2.0}
    """
    first, *others = runs
    return {name: min([first[name], *(run[name] for run in others)]) for name in first}


def report(sentence: str, holds: bool) -> None:
    """Print a sentence about times, and whether it holds on the machine that just measured.

    Another machine may disagree, which is no error.

    >>> report("reading is faster than writing", True)
    Here too: reading is faster than writing.
    >>> report("reading is faster than writing", False)
    Not here: reading is faster than writing.
    """
    print(f"{'Here too' if holds else 'Not here'}: {sentence}.")


def _clock(device: torch.device) -> Callable[[], float]:
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    fine = time.get_clock_info("thread_time").resolution < 1e-6
    return time.thread_time if alone and fine else time.perf_counter


def _waiting(device: torch.device) -> Callable[[], Any]:
    """What to call so that all work given to ``device`` is done."""
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    return torch.mps.synchronize if device.type == "mps" else lambda: None
