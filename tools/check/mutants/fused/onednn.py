"""Mistakes in `mhsa_lib/fused/onednn`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the gradient of the weight is that of the first rows",
        "fused/onednn.py",
        "to_weight = multiply(rows.T.contiguous(), columns)",
        "to_weight = multiply(rows[:8].T.contiguous(), columns[:, :8].contiguous())",
        "fused/linear",
    ),
    Mutant(
        "autocast turns float64 into bfloat16",
        "fused/onednn.py",
        "or x.dtype is torch.float64 or not x.is_cpu",
        "or not x.is_cpu",
        "fused/ways",
    ),
    Mutant(
        "the derivative of a gradient is cut off",
        "fused/onednn.py",
        "multiply = F.linear if differentiated_again(grad) else times",
        "multiply = times",
        "fused/linear",
    ),
]
