"""Mistakes in `mhsa_lib/fused/sdpa`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the fused kernel drops is_causal",
        "fused/sdpa.py",
        "call.v, call, is_causal=True)",
        "call.v, call)",
        "fused/dispatch",
    ),
    Mutant(
        "grouped heads are not told to be grouped",
        "fused/sdpa.py",
        "grouped = bool(q.shape[-3] != k.shape[-3])",
        "grouped = False",
        "fused/dispatch",
    ),
    Mutant(
        "a recorded program is causal by the lengths of its example",
        "fused/sdpa.py",
        "if not is_compiling():  # torch.jit writes no condition down\n        return False",
        "if not is_compiling():\n        return bool(n == m)",
        "fused/compile",
    ),
    Mutant(
        "fused: a blind query looks at everything",
        "fused/sdpa.py",
        "return z.masked_fill(sees_nothing, 0.0)",
        "return z",
        "fused/attention",
    ),
    Mutant(
        "fused inverts the mask",
        "fused/sdpa.py",
        "attn_mask=allowed | sees_nothing",
        "attn_mask=~allowed | sees_nothing",
        "fused/attention",
    ),
]
