"""Mistakes in `mhsa_lib/tracing/editing`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "an edit of q, k or v is ignored",
        "trace/editing.py",
        "(*output[:position], edited, *output[position + 1 :])",
        "output",
        "trace/editing",
    ),
    Mutant(
        "an edit of the only output is ignored",
        "trace/editing.py",
        "return _changed(wire, output, change)",
        "return output",
        "trace/editing",
    ),
    Mutant(
        "an edit always hits the first output",
        "trace/editing.py",
        "(s, s.wires.index(wire))",
        "(s, 0)",
        "trace/editing",
    ),
    Mutant(
        "a trace around an edit sees the old value",
        "trace/editing.py",
        "hooks.after(stage, replace, first=True)",
        "hooks.after(stage, replace)",
        "trace/editing",
    ),
]
