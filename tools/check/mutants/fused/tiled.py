"""Mistakes in `mhsa_lib/fused/tiled`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a tile forgets what is forbidden",
        "fused/tiled.py",
        "scores[..., columns].add_(addend)",
        "pass",
        "fused/tiled",
    ),
    Mutant(
        "the weights that were kept are those of the first tile",
        "fused/tiled.py",
        "weights = next(kept) if saved",
        "weights = saved[0] if saved",
        "fused/tiled",
    ),
    Mutant(
        "the gradient of the keys forgets the scale",
        "fused/tiled.py",
        "_padded(q[queries][..., rows, :]) * ctx.scale",
        "_padded(q[queries][..., rows, :])",
        "fused/tiled",
    ),
    Mutant(
        "heads that share keys keep the gradient of the last",
        "fused/tiled.py",
        "to_k[keys] += on_K",
        "to_k[keys] = on_K",
        "fused/tiled",
    ),
]
