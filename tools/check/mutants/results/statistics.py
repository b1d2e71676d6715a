"""Mistakes in `mhsa_book/results`: differences of arms, and what chance makes of them."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "statistics: p without the other sign",
        "results/sign_flips.py",
        "abs(numbers.sum(axis=axis))",
        "numbers.sum(axis=axis)",
        "results/sign_flips",
    ),
    Mutant(
        "statistics: differences compared as floats",
        "results/decimals.py",
        'Fraction(f"{number:.12g}")',
        "Fraction(number)",
        "results/sign_flips results/paired",
    ),
    Mutant(
        "statistics: n degrees of freedom",
        "results/paired.py",
        "stats.t.ppf((1 + level) / 2, self.n - 1)",
        "stats.t.ppf((1 + level) / 2, self.n)",
        "results/paired",
    ),
    Mutant(
        "statistics: the normal quantile for few seeds",
        "results/paired.py",
        "stats.t.ppf((1 + level) / 2, self.n - 1)",
        "stats.t.ppf((1 + level) / 2, 10_000)",
        "results/paired",
    ),
    Mutant(
        "statistics: an interval of one side",
        "results/paired.py",
        "stats.t.ppf((1 + level) / 2,",
        "stats.t.ppf(level,",
        "results/paired",
    ),
    Mutant(
        "statistics: variance divided by n",
        "results/paired.py",
        "/ (self.n - 1) / self.n)",
        "/ self.n / self.n)",
        "results/paired",
    ),
    Mutant(
        "statistics: equivalence on one side only",
        "results/paired.py",
        "room = margin - abs(self.difference)",
        "room = margin - self.difference",
        "results/paired",
    ),
    Mutant(
        "statistics: no spread is certainty",
        "results/paired.py",
        "0.0 if 2.0 ** (1 - self.n) <= 1 - level else inf",
        "0.0",
        "results/paired results/claims",
    ),
    Mutant(
        "statistics: other seeds are dropped",
        "results/paired.py",
        "if ours.keys() != theirs.keys():",
        "if not ours.keys() & theirs.keys():",
        "results/paired",
    ),
    Mutant(
        "statistics: never counts as the horizon",
        "results/censored.py",
        "(horizon + 1.0, inf) if step is None",
        "(horizon + 0.0, horizon + 0.0) if step is None",
        "results/censored",
    ),
    Mutant(
        "statistics: ties count for the sign test",
        "results/censored.py",
        "binomtest(ahead, ahead + behind)",
        "binomtest(ahead, self.n)",
        "results/censored",
    ),
    Mutant(
        "statistics: neither arriving counts as a tie",
        "results/censored.py",
        "for pair in pairs if pair != (None, None)",
        "for pair in pairs",
        "results/censored",
    ),
    Mutant(
        "statistics: Bonferroni for Holm",
        "results/holm.py",
        "(len(order) - rank) * p_values[i]",
        "len(order) * p_values[i]",
        "results/holm",
    ),
    Mutant(
        "statistics: Holm without order",
        "results/holm.py",
        "largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))",
        "largest = min(1.0, (len(order) - rank) * p_values[i])",
        "results/holm",
    ),
]
