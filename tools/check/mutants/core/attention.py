"""Mistakes in `mhsa_lib/attention`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "scale 1/d_head instead of 1/√d_head",
        "attention.py",
        "scale=d_head**-0.5",
        "scale=1 / d_head",
        "attention/parts",
    ),
    Mutant(
        "scale by d_model",
        "attention.py",
        "scale=d_head**-0.5",
        "scale=d_model**-0.5",
        "attention/parts",
        exhibit="scale_by_d_model",
    ),
    Mutant(
        "context ignored",
        "attention.py",
        "context = x if context is None else context",
        "context = x",
        "attention/oracles",
    ),
    Mutant(
        "bias of W_O forgotten",
        "attention.py",
        "nn.Linear(d_heads, d_model, bias=bias)",
        "nn.Linear(d_heads, d_model, bias=False)",
        "attention/parts",
    ),
    Mutant(
        "dropout not handed on",
        "attention.py",
        "dropout=dropout)",
        "dropout=0.0)",
        "attention/hard_inputs",
    ),
    Mutant(
        "a stage that is passed in is not used",
        "attention.py",
        "Concat() if concat is None else concat",
        "Concat()",
        "attention/parts",
    ),
    Mutant(
        "an empty container passed as W_O is passed over",
        "attention.py",
        "nn.Linear(d_heads, d_model, bias=bias) if W_O is None else W_O",
        "W_O or nn.Linear(d_heads, d_model, bias=bias)",
        "attention/parts",
    ),
]
