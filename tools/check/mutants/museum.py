"""Mistakes in `mhsa_book/museum`, beside those that it shows."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "museum: a check that fails for the right one counts as a find",
        "museum/catalogue.py",
        "return _passes(check, RIGHT, self.setting) and not _passes(",
        "return not _passes(",
        "museum/exhibits",
    ),
    Mutant(
        "museum: the exhibit's parts are not put in place",
        "museum/catalogue.py",
        "return RIGHT.having(**self.parts)",
        "return RIGHT",
        "museum/exhibits",
    ),
    Mutant(
        "museum: rotary positions of another base",
        "museum/right.py",
        "BASE = 10_000.0",
        "BASE = 1_000.0",
        "museum/right",
    ),
    Mutant(
        "museum: with a cache the right causal mask begins at the first key",
        "museum/right.py",
        "return torch.ones(n_query, n_key).tril(n_key - n_query).bool()",
        "return torch.ones(n_query, n_key).tril().bool()",
        "museum/right",
    ),
    Mutant(
        "museum: the period that a text announces is another one",
        "museum/task.py",
        "often = torch.tensor(PERIODS)[period]",
        "often = torch.tensor(PERIODS).flip(0)[period]",
        "museum/measured",
    ),
    Mutant(
        "museum: borrowed weights meet the right parts",
        "museum/study.py",
        "    right.parts = parts\n",
        "",
        "museum/measured",
    ),
]
