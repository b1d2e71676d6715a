"""The most memory that one forward pass takes of a whole process, a fresh one for each length.

The process forks once per length, so that every measurement starts with nothing allocated. A
pass warms up, freed memory is given back, the kernel's high-water mark is set back, and the
second pass is measured. glibc's allocator is as it comes.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from mhsa_book.bench import heap, reasons
from mhsa_book.bench.machine import ALLOCATOR
from mhsa_book.bench.problem import Problem
from mhsa_book.bench.registry import PASSES
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import OURS, UNIT, Peak

NAMES = (
    UNIT, OURS, "explicit softmax", "3h small matrices", "nn.MHA, no weights",
    "nn.MHA, fast path", "nn.MHA, weights", "torchtune", "BERT eager", "BERT SDPA",
)  # fmt: skip
LENGTHS = (512, 1024, 2048, 4096, 8192)


def tasks(quick: bool = False) -> list[tuple[str, str, tuple[int, ...]]]:
    """What to measure: name, mask and lengths, one fresh process each."""
    if quick:
        return [(name, "full", (512, 2048)) for name in (UNIT, OURS, "explicit softmax")]
    everybody = [(name, mask, LENGTHS) for mask in ("full", "causal") for name in NAMES]
    return [*everybody, *((name, "window", LENGTHS) for name in (UNIT, OURS))]


def peaks(name: str, mask: str, lengths: tuple[int, ...], threads: int) -> list[Peak]:
    """Measure one implementation in a fresh process."""
    arguments = [name, mask, str(threads), *map(str, lengths)]
    environment = {k: v for k, v in os.environ.items() if k not in ALLOCATOR}
    done = subprocess.run(
        [sys.executable, "-m", "mhsa_book.bench.memory", *arguments],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    found = [Peak(**json.loads(line)) for line in lines]
    measured = {peak.n_tokens for peak in found}
    return found + [
        Peak(name, mask, n, reason="not run here: its process died")
        for n in lengths
        if n not in measured
    ]


def extra(name: str, mask: str, n_tokens: int) -> Peak:
    """Measure in this process; call it in one that has done nothing else."""
    try:
        cell = Cell(1, n_tokens, 512, 8, mask)
        given = Problem(cell)
        loaded = PASSES[name](given)
        loaded.module.train(loaded.stays_training)
        with torch.inference_mode():
            loaded.call(given.x)
            heap.give_back()
            Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
            before = _status("VmRSS")
            loaded.call(given.x)
        return Peak(name, mask, n_tokens, round((_status("VmHWM") - before) / 1000, 1))
    except Exception as error:  # other people's code may fail in any way
        return Peak(name, mask, n_tokens, reason=f"not run here: {reasons.why(error)}")


def _forked(name: str, mask: str, lengths: tuple[int, ...], threads: int) -> Iterator[str]:
    """One measurement after another, each in a fork, as lines of JSON."""
    for n in lengths:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            torch.set_num_threads(threads)
            os.write(writing, json.dumps(vars(extra(name, mask, n))).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            yield pipe.read()
        os.waitpid(child, 0)


def _status(field: str) -> int:
    """A line of /proc/self/status in units of 1000 bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 // 1000
    raise OSError(f"the kernel does not tell {field}.")


if __name__ == "__main__":
    name, mask, threads, *lengths = sys.argv[1:]
    for line in _forked(name, mask, tuple(map(int, lengths)), int(threads)):
        print(line, flush=True)
