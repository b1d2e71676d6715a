"""Mistakes in `mhsa_lib/cache/fixed.py`: what is made of a context."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "context: projected at every call",
        "cache/fixed.py",
        "        if self.known is not None:\n            bound",
        "        if self.known is None and False:\n            bound",
        "cache/fixed",
    ),
    Mutant(
        "context: the keys of another one are used",
        "cache/fixed.py",
        "        if given is not self.known:",
        "        if given.shape != self.known.shape:",
        "cache/fixed",
    ),
    Mutant(
        "context: one that was changed in place is not noticed",
        "cache/fixed.py",
        "        if _version(given) != self.version:",
        "        if given.dtype != self.known.dtype:",
        "cache/fixed",
    ),
    Mutant(
        "context: a call that failed decides it",
        "cache/fixed.py",
        "            self.made[wire] = values[wire] = self.kept.get(wire, values[wire])",
        "            self.kept[wire] = values[wire] = self.kept.get(wire, values[wire])",
        "cache/fixed",
    ),
    Mutant(
        "context: a trace outside sees no keys",
        "cache/fixed.py",
        "hooks.after(stage, context.keep, first=True)",
        "hooks.after(stage, context.keep)",
        "cache/fixed",
    ),
    Mutant(
        "context: keys that are turned by their position are taken",
        "cache/fixed.py",
        "    _knows_no_positions(attention)\n    if",
        "    if",
        "battery/context",
    ),
]
