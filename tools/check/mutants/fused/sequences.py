"""Mistakes in `mhsa_lib/fused/sequences`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a sequence is cut to the length of its neighbour",
        "fused/sequences.py",
        "keys = min(max(queries - shift, 0), n_query), min(keys, n_key)",
        "keys = min(max(queries - shift, 0), n_query), min(key_lengths[0], n_key)",
        "fused/dispatch",
    ),
    Mutant(
        "a context that nobody sees is left out of the graph",
        "fused/sequences.py",
        "for t in (call.q, call.k, v)]",
        "for t in (call.q, call.q, call.q)]",
        "fused/empty",
    ),
    Mutant(
        "sequences look at each other",
        "fused/sequences.py",
        "t.split(call.lengths, dim=-2)",
        "t.split(sum(call.lengths), dim=-2)",
        "fused/ragged",
    ),
    Mutant(
        "a sequence in a batch forgets where its queries stand",
        "fused/sequences.py",
        "run(call.part(*heads, rule, shift))",
        "run(call.part(*heads, rule))",
        "fused/dispatch",
    ),
]
