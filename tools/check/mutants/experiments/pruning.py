"""Mistakes in `mhsa_book/experiments/pruning`, and in what is stored of it."""

from tools.check.mutant import Mutant

ROOM = "experiments/pruning"
MUTANTS = [
    Mutant(
        "pruning: the absolute value of the sum over tokens",
        f"{ROOM}/orders.py",
        "slope.abs().sum(dim=(0, 2, 3))",
        "slope.sum(dim=(0, 2, 3)).abs()",
        f"{ROOM}/orders",
    ),
    Mutant(
        "pruning: longer fine-tuning is that of the heads that would go first",
        f"{ROOM}/work.py",
        "few = removed(whole, [heads[i] for i in ranking[:level]])",
        "few = removed(whole, [heads[i] for i in ranking[-level:]])",
        f"{ROOM}/running",
    ),
    Mutant(
        "pruning: greedy removal forgets what is gone already",
        f"{ROOM}/orders.py",
        "with without(model, [*gone, head]):",
        "with without(model, [head]):",
        f"{ROOM}/orders",
    ),
    Mutant(
        "pruning: padding counts for confidence",
        f"{ROOM}/orders.py",
        '"decoder": wanted != PAD}\n    with torch.no_grad()',
        '"decoder": wanted >= PAD}\n    with torch.no_grad()',
        f"{ROOM}/orders",
    ),
    Mutant(
        "pruning: an attention without heads lets the stream through twice",
        f"{ROOM}/removal.py",
        "zero = torch.zeros_like(x)",
        "zero = x",
        f"{ROOM}/removal",
    ),
    Mutant(
        "pruning: what stays forgets its gate",
        f"{ROOM}/gates.py",
        "bare.W_O.weight.mul_(",
        "bare.W_O.weight.mul(",
        f"{ROOM}/removal",
    ),
    Mutant(
        "pruning: gates learn no faster than weights",
        f"{ROOM}/gates.py",
        '{"params": gates, "lr": GATE_RATE}',
        '{"params": gates}',
        f"{ROOM}/running",
    ),
    Mutant(
        "pruning: the last heads of an order are kept",
        f"{ROOM}/work.py",
        "both(removed(whole, [heads[i] for i in ranking[:level]]))",
        "both(removed(whole, [heads[i] for i in ranking[-level:]]))",
        f"{ROOM}/running",
    ),
    Mutant(
        "pruning: λ is chosen by the first seed alone",
        f"{ROOM}/running.py",
        "for seed in plan.tuned_on)\n        for weight",
        "for seed in plan.tuned_on[:1])\n        for weight",
        f"{ROOM}/running",
    ),
    Mutant(
        "results of pruning: for chance a head with two roles counts twice",
        "results/pruning.py",
        "marked.append(len(held))",
        "marked.append(len(self.roles))",
        "results/pruning",
    ),
    Mutant(
        "hypergeometric: more than found, not at least",
        "results/hypergeometric.py",
        "total[max(0, found) :]",
        "total[max(0, found) + 1 :]",
        "results/hypergeometric",
    ),
]
