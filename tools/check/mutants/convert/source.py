"""Mistakes in `mhsa_lib/convert/source`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "from_llama: the usual base for every model",
        "convert/source.py",
        'base, share = float(rope["rope_theta"])',
        "base, share = 10_000.0",
        "convert/llama/numbers",
    ),
    Mutant(
        "from_llama: frequencies are not stretched",
        "convert/source.py",
        "return made(turned, base, pairing, stretch)",
        "return made(turned, base, pairing)",
        "convert/llama/stretched",
    ),
    Mutant(
        "from_llama: the older name of a kind is not read",
        "convert/source.py",
        'rope.get("rope_type") or rope.get("type") or "default"',
        'rope.get("rope_type") or "default"',
        "convert/llama/stretched",
    ),
    Mutant(
        "a way to attend is known by its name alone",
        "convert/source.py",
        """ or written.partition(".")[0] != "transformers":""",
        ":",
        "convert/llama/refused",
    ),
]
