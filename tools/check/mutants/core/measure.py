"""Mistakes in `mhsa_lib/measure`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "entropy in bits",
        "measure.py",
        "return torch.special.entr(weights).sum(dim=-1)",
        "return torch.special.entr(weights).sum(dim=-1) / math.log(2)",
        "measure",
    ),
    Mutant(
        "at_offset with the sign flipped",
        "measure.py",
        "_offsets(weights) == offset",
        "_offsets(weights) == -offset",
        "measure",
    ),
    Mutant(
        "at_offset counts queries without such a token",
        "measure.py",
        "dim=(-2, -1)) / n",
        "dim=(-2, -1)) / weights.shape[-2]",
        "measure",
    ),
    Mutant(
        "agreement not normalised",
        "measure.py",
        "summed / n.clamp(min=1) / math.log(2)",
        "summed / n.clamp(min=1)",
        "measure",
    ),
    Mutant(
        "distance with a sign",
        "measure.py",
        "_offsets(weights).abs()",
        "_offsets(weights)",
        "measure",
    ),
    Mutant(
        "queries are the first positions",
        "measure.py",
        "torch.arange(n_key - n_query, n_key, device",
        "torch.arange(n_query, device",
        "measure",
    ),
    Mutant(
        "composition: what is read is multiplied first",
        "measure.py",
        "matrix_norm(writes[:, None] @ reads)",
        "matrix_norm(reads @ writes[:, None])",
        "measure",
    ),
    Mutant(
        "composition not divided by the norm of what is read",
        "measure.py",
        "[:, None] * torch.linalg.matrix_norm(reads)",
        "[:, None].expand(-1, len(reads))",
        "measure",
    ),
]
