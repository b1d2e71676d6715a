"""Mistakes in `mhsa_book/conversions/to_absorbed`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "absorbed: W_UK of another head",
        "convert/to_absorbed.py",
        "q = torch.cat([nope @ W_UK, rope], dim=-1)",
        "q = torch.cat([nope @ W_UK.roll(1, 0), rope], dim=-1)",
        "variants/latent/absorbed",
    ),
    Mutant(
        "absorbed: W_UV of another head",
        "convert/to_absorbed.py",
        "self.z(z @ W_UV)",
        "self.z(z @ W_UV.flip(0))",
        "variants/latent/absorbed",
    ),
    Mutant(
        "absorbed: a copy of the parameters",
        "convert/to_absorbed.py",
        "attention, {id(shared): shared for shared in attention.parameters()}\n",
        "attention\n",
        "variants/latent/absorbed",
    ),
]
