"""Mistakes in `mhsa_book/bench`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "bench: nobody's output is wrong",
        "bench/judge.py",
        "if error > allowed:",
        "if error > 1e9:",
        "bench/judge",
    ),
    Mutant(
        "bench: the hopelessly slow are waited for",
        "bench/judge.py",
        "first[name] > max(1.0, HOPELESS",
        "first[name] > max(1e9, HOPELESS",
        "bench/judge",
    ),
    Mutant(
        "bench: a cell is profiled though nothing was lost",
        "bench/judge.py",
        "if race.lost and torch",
        "if torch",
        "bench/profiles",
    ),
    Mutant(
        "bench: time between operations is no time",
        "bench/profiles.py",
        'found["calls"] = max(0.0, 1000 * wall / n - sum(found.values()) + found["calls"])',
        'found["calls"] = found["calls"]',
        "bench/profiles",
    ),
    Mutant(
        "bench: only x's gradient is compared",
        "bench/problem.py",
        'found = {"x": dx[self.real], **gradients(maps)}',
        'found = {"x": dx[self.real]}',
        "bench/problem",
    ),
    Mutant(
        "bench: the answers of the cell before",
        "bench/problem.py",
        'return _answers(replace(self.cell, mode="training", precision="float32"))',
        "return _answers(Cell(2, 8, 16, 2))",
        "bench/problem",
    ),
    Mutant(
        "bench: rounds that others disturb count",
        "bench/clock.py",
        "if clock.foreign(before, took) > FOREIGN:",
        "if clock.foreign(before, took) > 9:",
        "bench/clock",
    ),
    Mutant(
        "bench: our own threads are foreign load",
        "bench/clock.py",
        "(after[0] - before[0]) - (after[1] - before[1])",
        "after[0] - before[0]",
        "bench/clock",
    ),
    Mutant(
        "bench: everybody runs in the same order",
        "bench/clock.py",
        "order.shuffle(names)",
        "names.sort()",
        "bench/clock",
    ),
    Mutant(
        "bench: raw again is a peer",
        "bench/judge.py",
        "apart = {AGAIN, OURS, STAGES}",
        "apart = {OURS, STAGES}",
        "bench/judge",
    ),
]
