"""Mistakes in `mhsa_book/profiling`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "timing: the first run counts",
        "profiling/timing.py",
        "if runs >= 0:",
        "if runs >= -1:",
        "profiling/timing",
    ),
    Mutant(
        "timing: one core, and the wall clock",
        "profiling/timing.py",
        "return time.thread_time if alone and fine else",
        "return time.thread_time if alone and not fine else",
        "profiling/timing",
    ),
    Mutant(
        "peak: memory that was given back still counts",
        "profiling/peak_memory.py",
        "return max(accumulate((e.nbytes() for e in in_order), initial=0))",
        "return sum(abs(e.nbytes()) for e in in_order)",
        "profiling/peak_memory",
    ),
]
