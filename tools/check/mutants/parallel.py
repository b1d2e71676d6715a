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
]
