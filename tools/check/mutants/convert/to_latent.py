"""Mistakes in `mhsa_book/conversions/to_latent`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "mha_to_latent: the smallest directions",
        "convert/to_latent.py",
        "W_DKV.weight[:n] = down[:n]",
        "W_DKV.weight[:n] = down[-n:]",
        "convert/to_latent",
    ),
    Mutant(
        "mha_to_latent: the bias of the values is lost",
        "convert/to_latent.py",
        "(moved + W_O.bias.detach())",
        "(0 * moved + W_O.bias.detach())",
        "convert/to_latent",
    ),
]
