"""Mistakes in `mhsa_lib/convert/deepseek`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "from_deepseek: keys and values of a head change places",
        "convert/deepseek.py",
        "zip((split.W_UK, split.W_UV), heads",
        "zip((split.W_UV, split.W_UK), heads",
        "convert/deepseek",
    ),
    Mutant(
        "from_deepseek: neighbours are always a pair",
        "convert/deepseek.py",
        "HALVES if halves else INTERLEAVED",
        "INTERLEAVED",
        "convert/deepseek",
    ),
    Mutant(
        "from_deepseek: V2 pairs as its configuration says",
        "convert/deepseek.py",
        'name == "DeepseekV3Attention" and not source.config.rope_interleave',
        'not getattr(source.config, "rope_interleave", True)',
        "convert/deepseek",
    ),
    Mutant(
        "from_deepseek: the scale of a short text",
        "convert/deepseek.py",
        "    latent.attend.scale = source.scaling\n",
        "",
        "convert/deepseek",
    ),
    Mutant(
        "from_deepseek: one eps for both norms",
        "convert/deepseek.py",
        "norm.eps = given.variance_epsilon",
        "norm.eps = source.kv_a_layernorm.variance_epsilon",
        "convert/deepseek",
    ),
    Mutant(
        "from_deepseek: without gradients recorded, keys stop learning",
        "convert/deepseek.py",
        "parameters.like(both, weight.flatten(0, 1)), None)",
        "weight.flatten(0, 1), None)",
        "convert/deepseek",
    ),
]
