"""Mistakes in `mhsa_lib/convert/llama`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "from_llama: neighbours are a pair",
        "convert/llama.py",
        "        HALVES,\n",
        '        convert_source.Pairing("interleaved", "(pair two)"),\n',
        "convert/llama/numbers",
        exhibit="the_other_rotary_layout",
    ),
    Mutant(
        "from_llama: Gemma 3 caps its scores too",
        "convert/llama.py",
        'if name == "Gemma2Attention" else None',
        'if name in ("Gemma2Attention", "Gemma3Attention") else None',
        "convert/llama/stages",
    ),
    Mutant(
        "from_llama: heads without their norms",
        "convert/llama.py",
        "n_kv_heads, **of_heads)",
        "n_kv_heads)",
        "convert/llama/numbers",
    ),
]
