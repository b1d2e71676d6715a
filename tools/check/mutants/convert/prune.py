"""Mistakes in `mhsa_lib/convert/prune`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "prune: W_O keeps the columns of the first heads",
        "convert/prune.py",
        "_keep(pruned.W_O, 1, heads, d_head)",
        "_keep(pruned.W_O, 1, list(range(len(heads))), d_head)",
        "convert/prune",
    ),
    Mutant(
        "prune: biases are those of the first heads",
        "convert/prune.py",
        "W.bias = _part(W.bias, axis, heads, d_head)",
        "W.bias = _part(W.bias, axis, list(range(len(heads))), d_head)",
        "convert/prune",
    ),
    Mutant(
        "prune: what is frozen learns again",
        "convert/prune.py",
        "requires_grad=parameter.requires_grad)",
        "requires_grad=True)",
        "convert/prune",
    ),
    Mutant(
        "prune: the original loses its heads too",
        "convert/prune.py",
        "parameters.copied(attention), attention.d_head",
        "attention, attention.d_head",
        "convert/prune",
    ),
    Mutant(
        "prune: only the stage learns how many heads are left",
        "convert/prune.py",
        "for module in (pruned, pruned.split):",
        "for module in (pruned.split,):",
        "convert/prune",
    ),
    Mutant(
        "prune: the first key heads stay, whoever reads them",
        "convert/prune.py",
        "return list(readers)",
        "return list(range(len(readers)))",
        "convert/prune",
    ),
    Mutant(
        "prune: groups of different sizes",
        "convert/prune.py",
        "if least < most:",
        "if least > most:",
        "convert/prune_errors",
    ),
    Mutant(
        "prune: heads in the order in which they were named",
        "checks/values.py",
        "return sorted(named)",
        "return named",
        "convert/prune",
    ),
    Mutant(
        "prune: heads counted from the end",
        "checks/values.py",
        "if not 0 <= head < n_heads:",
        "if not -n_heads <= head < n_heads:",
        "convert/prune_errors",
    ),
    Mutant(
        "prune: a mask taken for the heads 0 and 1",
        "checks/values.py",
        "if isinstance(head, bool):",
        "if head is None:",
        "convert/prune_errors",
    ),
    Mutant(
        "ungated: the gates are lost",
        "convert/prune.py",
        "gates.repeat_interleave(attention.d_head)",
        "gates.sign().repeat_interleave(attention.d_head)",
        "convert/ungated",
    ),
    Mutant(
        "ungated: gates of columns in turn",
        "convert/prune.py",
        "gates.repeat_interleave(attention.d_head)",
        "gates.repeat(attention.d_head)",
        "convert/ungated",
    ),
    Mutant(
        "ungated: a gate that still draws",
        "convert/prune.py",
        "if attention.gate.training:",
        "if attention.training:",
        "convert/ungated",
    ),
    Mutant(
        "ungated: one gate for all heads is taken for one head",
        "convert/prune.py",
        "attention.gate.log_alpha, (attention.n_heads,))",
        "attention.gate.log_alpha, tuple(attention.gate.log_alpha.shape))",
        "convert/ungated",
    ),
]
