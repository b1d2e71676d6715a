"""Mistakes in `mhsa_lib/convert/pytorch`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "from_torch takes V, K, Q",
        "convert/pytorch.py",
        "parameters.cut(source.in_proj_weight, widths)",
        "parameters.cut(source.in_proj_weight, widths)[::-1]",
        "convert/pytorch",
    ),
    Mutant(
        "from_torch forgets dropout",
        "convert/pytorch.py",
        "dropout=source.dropout",
        "dropout=0.0",
        "convert/pytorch",
    ),
    Mutant(
        "from_torch accepts add_zero_attn",
        "convert/pytorch.py",
        "source.bias_k is not None or source.add_zero_attn",
        "source.bias_k is not None",
        "convert/pytorch",
    ),
    Mutant(
        "a converted module forgets eval",
        "convert/pytorch.py",
        "return attention.train(source.training)",
        "return attention",
        "convert/pytorch_bert_gpt2",
    ),
]
