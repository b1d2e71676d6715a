"""Mistakes in `mhsa_lib/convert/gpt2`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "GPT-2's c_attn not transposed",
        "convert/gpt2.py",
        "parameters.like(packed.weight, part.T)",
        "parameters.like(packed.weight, part)",
        "convert/gpt2",
        exhibit="weights_of_a_linear_not_transposed",
    ),
    Mutant(
        "GPT-2's c_proj not transposed",
        "convert/gpt2.py",
        "parameters.like(output.weight, output.weight.T)",
        "parameters.like(output.weight, output.weight)",
        "convert/gpt2",
    ),
    Mutant(
        "GPT-2's scale ignored",
        "convert/gpt2.py",
        'attention.attend.scale = getattr(source, "scaling", _scaling(source))',
        "",
        "convert/gpt2",
    ),
    Mutant(
        "GPT-2's scale by layer off by one",
        "convert/gpt2.py",
        "source.layer_idx + 1",
        "source.layer_idx",
        "convert/gpt2",
    ),
]
