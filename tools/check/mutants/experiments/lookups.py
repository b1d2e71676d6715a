"""Mistakes in the tasks of several look-ups, and of one."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "lookups: the last slots are answered",
        "experiments/lookups.py",
        "return tokens, answers[..., :k]",
        "return tokens, answers[..., -k:]",
        "experiments/lookups",
    ),
    Mutant(
        "lookups: every slot asks for the next symbol",
        "experiments/lookups.py",
        "symbol[asked].flatten(2)",
        "symbol[(asked + 1) % SYMBOLS].flatten(2)",
        "experiments/lookups",
    ),
    Mutant(
        "one look-up: neighbours have the same bit",
        "experiments/one_lookup.py",
        "bits = torch.cat([bit, 1 - bit], dim=1)",
        "bits = torch.cat([bit, bit], dim=1)",
        "experiments/lookups",
    ),
    Mutant(
        "one look-up: every code has places of its own",
        "experiments/one_lookup.py",
        "places = torch.rand(BATCH, 1, rank, generator=generator).argsort(dim=-1)",
        "places = torch.rand(BATCH, 2 * PAIRS, rank, generator=generator).argsort(dim=-1)",
        "experiments/lookups",
    ),
    Mutant(
        "one look-up: pairs are not counted",
        "experiments/one_lookup.py",
        "    signs[..., :3] = counted\n",
        "",
        "experiments/lookups",
    ),
]
