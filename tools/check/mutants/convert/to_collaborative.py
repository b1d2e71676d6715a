"""Mistakes in `mhsa_book/conversions/to_collaborative`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "decomposition: the new scale of the released code",
        "convert/to_collaborative.py",
        "scale=attention.attend.scale",
        "scale=(attention.n_heads / found.mixing.shape[1]) ** 0.5",
        "variants/collaborative/decomposition",
    ),
    Mutant(
        "decomposition: stops after one sweep",
        "convert/to_collaborative.py",
        "and len(errors) <= n_sweeps and",
        "and len(errors) <= 1 and",
        "variants/collaborative/decomposition",
    ),
    Mutant(
        "decomposition: the query bias is dropped",
        "convert/to_collaborative.py",
        "if old is None else old.detach().to(W_Q)",
        "if old is None else 0 * old.detach().to(W_Q)",
        "variants/collaborative/decomposition",
    ),
]
