"""Mistakes in `mhsa_lib/tracing/watched`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "tangents pass by our own product",
        "trace/watched.py",
        "        or forward_ad._current_level >= 0\n",
        "",
        "fused/ways",
    ),
    Mutant(
        "hooks of a map are read past",
        "trace/watched.py",
        "module._forward_hooks\n",
        "False\n",
        "fused/changed_maps",
    ),
    Mutant(
        "a replaced forward is read past",
        "trace/watched.py",
        '"forward" in vars(module)\n        or ',
        "",
        "fused/changed_maps",
    ),
]
