"""Mistakes in `mhsa_lib/fused/projection`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "fused keys of another width read the values' part",
        "fused/projection.py",
        'return {"W_Q": slice(0, 1), "W_KV": slice(1, 3)}',
        'return {"W_Q": slice(0, 1), "W_KV": slice(0, 3)}',
        "fused/context_width",
    ),
    Mutant(
        "fused ignores context",
        "fused/projection.py",
        "linear.linear(context, W_KV, b_KV)",
        "linear.linear(x, W_KV, b_KV)",
        "fused/attention",
    ),
    Mutant(
        "fused forgets b_Q in cross-attention",
        "fused/projection.py",
        "linear.linear(x, W_Q, b_Q)",
        "linear.linear(x, W_Q)",
        "fused/attention",
    ),
    Mutant(
        "fused: heads of another width",
        "fused/projection.py",
        "rows = self.W_QKV(x).unflatten(-1, (-1, self.d_head))",
        "rows = self.W_QKV(x).unflatten(-1, (self.d_head, -1)).mT",
        "fused/attention",
    ),
]
