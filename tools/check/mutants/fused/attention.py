"""Mistakes in `mhsa_lib/fused/attention`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "padding takes the bias of a map with hooks",
        "fused/attention.py",
        "if lengths is not None and self._is_bare():",
        "if lengths is not None:",
        "fused/changed_maps",
    ),
    Mutant(
        "fused drops weights in eval",
        "fused/attention.py",
        "self.dropout if self.training else 0.0",
        "self.dropout",
        "fused/dropout",
        exhibit="dropout_in_evaluation",
    ),
    Mutant(
        "fused never drops",
        "fused/attention.py",
        "self.dropout if self.training else 0.0",
        "0.0",
        "fused/dropout",
    ),
    Mutant(
        "fused forgets a changed scale",
        "fused/attention.py",
        "        fused.scale = attention.attend.scale\n",
        "",
        "fused/round_trip",
    ),
    Mutant(
        "fused packs Q, V, K",
        "fused/attention.py",
        'for name in ("W_Q", "W_K", "W_V")]',
        'for name in ("W_Q", "W_V", "W_K")]',
        "fused/attention",
        exhibit="packed_in_another_order",
    ),
    Mutant(
        "fused: half a gradient through the cache",
        "fused/attention.py",
        "            with torch.no_grad():\n                return self._continued",
        "            with torch.enable_grad():\n                return self._continued",
        "cache/memory",
    ),
    Mutant(
        "fused: shared heads come back as plain ones",
        "fused/attention.py",
        "sizes = self.d_model, self.n_heads, self.n_kv_heads\n",
        "sizes = self.d_model, self.n_heads, self.n_heads\n",
        "fused/grouped",
    ),
    Mutant(
        "fused: a token counts although W_O failed",
        "fused/attention.py",
        "        y = self.W_O(_concat(z))\n        call.commit()",
        "        call.commit()\n        y = self.W_O(_concat(z))",
        "cache/failing_calls",
    ),
    Mutant(
        "fused: z is laid over what a hook holds",
        "fused/attention.py",
        "not is_compiling() and q.shape[-2] > 1 and self._owns_q()",
        "True",
        "fused/attention",
    ),
]
