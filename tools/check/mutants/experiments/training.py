"""Mistakes in plain experiments, and in their training."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "training: targets that are not asked for count as wrong",
        "experiments/training.py",
        "asked += int(wanted.sum())",
        "asked += wanted.numel()",
        "experiments/training",
    ),
    Mutant(
        "experiment grouped: the answer is the feature asked for",
        "experiments/grouped.py",
        "(feature + 1) % FEATURES",
        "feature",
        "experiments/grouped",
    ),
]
