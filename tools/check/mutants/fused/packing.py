"""Mistakes in `mhsa_lib/fused/packing`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a fused optimizer's step goes unnoticed",
        "fused/packing.py",
        "and self.steps == _steps",
        "",
        "fused/linear",
    ),
    Mutant(
        "two parameters in one memory are taken for the same weight",
        "fused/packing.py",
        "self.source is weight and self.memory.data_ptr() == weight.data_ptr()",
        "self.memory.data_ptr() == weight.data_ptr()",
        "fused/linear",
    ),
    Mutant(
        "other memory of a parameter goes unnoticed",
        "fused/packing.py",
        "self.source is weight and self.memory.data_ptr() == weight.data_ptr()",
        "self.source is weight",
        "fused/linear",
    ),
    Mutant(
        "a weight that is computed is packed",
        "fused/packing.py",
        "return type(weight) is nn.Parameter and not weight.is_inference()",
        "return not weight.is_inference()",
        "fused/linear",
    ),
]
