"""Mistakes in `mhsa_lib/fused/latent`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "fused_latent: every step copies the latents",
        "fused/latent.py",
        "        if k.shape[-1] != d_value:",
        "        if k.shape[-1] >= d_value:",
        "fused/latent_decoding",
    ),
    Mutant(
        "fused_latent: every call starts at position 0",
        "fused/latent.py",
        "self.attention.project(x, x, positions)",
        "self.attention.project(x, x)",
        "fused/latent_decoding",
    ),
    Mutant(
        "fused_latent: the rotated key is taken for the latent",
        "fused/latent.py",
        "z[..., :d_latent], W_UV)",
        "z[..., -d_latent:], W_UV)",
        "fused/latent_decoding",
    ),
    Mutant(
        "fused latents: a step reads past an edited split",
        "fused/latent.py",
        "return read and bare(split, LatentSplit)",
        "return read",
        "fused/latent_parts",
    ),
    Mutant(
        "fused latents: another attend is never called, without a word",
        "fused/latent.py",
        "type(stage).forward is not kind.forward or ",
        "",
        "fused/latent_parts",
    ),
]
