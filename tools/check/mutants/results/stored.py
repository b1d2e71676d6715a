"""Mistakes in what is stored: how far seeds lie apart, and benchmarks."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "seeds: spread divided by n",
        "plots/spread.py",
        "from statistics import mean, stdev",
        "from statistics import mean, pstdev as stdev",
        "plots/spread",
    ),
    Mutant(
        "bench: a win inside the band",
        "results/records.py",
        '"ahead" if middle < 1 / (1 + self.band) else "tie"',
        '"ahead" if middle < 1 else "tie"',
        "results/records",
    ),
    Mutant(
        "bench: results are written in place",
        "results/whole.py",
        'file.with_name(f".{file.name}.{os.getpid()}")',
        "file",
        "results/benchmarks",
    ),
    Mutant(
        "bench: a causal pass needs as much as a full one",
        "results/cells.py",
        'if self.mask in ("full", "ragged"):',
        'if self.mask in ("full", "ragged", "causal"):',
        "results/cells",
    ),
]
