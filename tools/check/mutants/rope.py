"""Mistakes in `mhsa_lib/rope`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "rope: turned the other way for one coordinate",
        "rope/pairing.py",
        "torch.stack((a * cos - b * sin, a * sin + b * cos))",
        "torch.stack((a * cos + b * sin, a * sin + b * cos))",
        "rope/rotary",
    ),
    Mutant(
        "rope: frequencies fall half as fast",
        "rope/rotary.py",
        "self.base ** (-2 * pair / self.d_rotary)",
        "self.base ** (-pair / self.d_rotary)",
        "rope/rotary",
    ),
    Mutant(
        "rope: angles in half precision",
        "rope/rotary.py",
        "torch.promote_types(rows.dtype, torch.float32)",
        "rows.dtype",
        "rope/rotary",
    ),
    Mutant(
        "rope: halves where neighbours were meant",
        "rope/pairing.py",
        'INTERLEAVED = Pairing("interleaved", "(pair two)")',
        'INTERLEAVED = Pairing("interleaved", "(two pair)")',
        "rope/pairing",
    ),
    Mutant(
        "rope: queries are the first positions",
        "rope/rotary_split.py",
        "torch.arange(n_key - n_query, n_key, device=like.device)",
        "torch.arange(n_query, device=like.device)",
        "rope/rotary_split",
    ),
    Mutant(
        "rope: the norm of a head after its turn",
        "rope/rotary_split.py",
        "k = self.k_heads(self.k_norm(F.split_heads(k, self.n_kv_heads)))",
        "k = self.k_heads(F.split_heads(k, self.n_kv_heads))",
        "rope/rotary_split",
    ),
    Mutant(
        "rope: turned by the stretch, but not made longer",
        "rope/rotary.py",
        "        if magnitude != 1.0:\n",
        "        if magnitude == 1.0:\n",
        "rope/rotary",
    ),
    Mutant(
        "rope: a batch turns as its longest sequence",
        "rope/rotary.py",
        "length = positions.amax(dim=-1, keepdim=True)[..., None] + 1 if asked",
        "length = positions.amax()[None] + 1 if asked",
        "rope/lengths",
    ),
    Mutant(
        "rope: kept keys of a shorter text stand",
        "rope/rotary.py",
        "        if changed.any():\n",
        "        if False:\n",
        "rope/lengths",
    ),
    Mutant(
        "rope: padding counts as a past",
        "rope/rotary.py",
        "past = positions.where(positions >= 0, n)",
        "past = positions",
        "rope/lengths",
    ),
    Mutant(
        "stretches: YaRN cut at the number of pairs",
        "rope/stretches.py",
        "min(high, 2 * n_pairs - 1)",
        "min(high, n_pairs - 1)",
        "rope/stretches",
    ),
    Mutant(
        "stretches: the dynamic base grows before the text does",
        "rope/stretches.py",
        "length.clamp(min=self.length)",
        "length",
        "rope/stretches",
    ),
    Mutant(
        "stretches: long divisors one token too early",
        "rope/stretches.py",
        "length > self.length, long",
        "length >= self.length, long",
        "rope/stretches",
    ),
    Mutant(
        "from_llama: fast pairs are stretched instead of slow ones",
        "rope/stretches.py",
        "frequencies * (kept + (1 - kept) / self.factor)",
        "frequencies * (1 - kept + kept / self.factor)",
        "convert/llama/stretched",
    ),
]
