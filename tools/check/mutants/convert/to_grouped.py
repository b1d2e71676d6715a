"""Mistakes in `mhsa_lib/convert/to_grouped`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "pooling: heads of a group taken in turn",
        "convert/to_grouped.py",
        "unflatten(0, (n_kv_heads, group))",
        "unflatten(0, (group, n_kv_heads)).transpose(0, 1)",
        "convert/to_grouped",
    ),
    Mutant(
        "pooling: values are not merged like keys",
        "convert/to_grouped.py",
        "(project.W_V, grouped.project.W_V)",
        "(project.W_K, grouped.project.W_V)",
        "convert/to_grouped",
    ),
]
