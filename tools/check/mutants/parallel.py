"""Mistakes in `mhsa_lib/parallel`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "parallel: nobody adds up y",
        "parallel/tensor_parallel.py",
        "part.redistribute(part.device_mesh, [Replicate()]).to_local()",
        "part.to_local()",
        "parallel/ranks/equal",
    ),
    Mutant(
        "parallel: a gradient of x per matrix",
        "parallel/tensor_parallel.py",
        "    _enter(attention.project, lambda t: DTensor.from_local(t, mesh, [Replicate()]))\n",
        "",
        "parallel/ranks/talk",
    ),
    Mutant(
        "parallel: of the fused, nobody adds up the gradient of x",
        "parallel/tensor_parallel.py",
        "return same.to_local(grad_placements=[Partial()])",
        "return same.to_local()",
        "parallel/ranks/equal",
    ),
    Mutant(
        "parallel: every rank learns its own b_O",
        "parallel/tensor_parallel.py",
        'and (name != "W_O.bias" or rank == 0)',
        "and True",
        "parallel/ranks/equal",
    ),
    Mutant(
        "shard: every rank adds b_O",
        "parallel/one_rank.py",
        "if part.W_O.bias is not None and rank > 0:",
        "if part.W_O.bias is None:",
        "parallel/one_rank",
    ),
    Mutant(
        "shard: a rank has as many key heads as all",
        "parallel/one_rank.py",
        'for name in {"n_heads", "n_kv_heads"} &',
        'for name in {"n_heads"} &',
        "parallel/one_rank",
    ),
    Mutant(
        "parallel: what makes the latents learns from the heads of one rank",
        "parallel/tensor_parallel.py",
        "parameter.register_hook(total)",
        "parameter.register_hook(lambda part: part)",
        "parallel/ranks/equal",
    ),
    Mutant(
        "shard: a latent is made for other heads",
        "parallel/one_rank.py",
        "return [up, split.W_UK, split.W_UV]",
        "return [up, split.W_UV, split.W_UV]",
        "parallel/one_rank",
    ),
    Mutant(
        "tokens: blocks come back as heads",
        "parallel/ulysses.py",
        ".movedim(0, -4).flatten(-4, -3)",
        ".movedim(0, -3).flatten(-4, -3)",
        "parallel/ranks/equal",
    ),
    Mutant(
        "tokens: nobody asks how long the other blocks are",
        "parallel/ulysses.py",
        "if len(set(found)) > 1:",
        "if not found:",
        "parallel/ranks/refusals",
    ),
]
