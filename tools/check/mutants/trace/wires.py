"""Mistakes in `mhsa_lib/tracing/wires`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "trace detaches",
        "trace/wires.py",
        "self[wire] = value",
        "self[wire] = value.detach()",
        "trace/wires",
    ),
    Mutant(
        "trace clones",
        "trace/wires.py",
        "self[wire] = value",
        "self[wire] = value.clone()",
        "trace/wires",
    ),
    Mutant(
        "a long trace keeps every tensor after a pass",
        "trace/wires.py",
        "        hooks.after(attention, watching(lambda *_: recorder.stop()), always=True)\n",
        "",
        "trace/wires",
    ),
    Mutant(
        "a trace goes on listening after a pass that failed",
        "trace/wires.py",
        "lambda *_: recorder.stop()), always=True)",
        "lambda *_: recorder.stop()))",
        "trace/wires",
    ),
    Mutant(
        "a second pass is added to the first",
        "trace/wires.py",
        "        self.clear()\n        self.steps.clear()\n",
        "",
        "trace/wires",
    ),
    Mutant(
        "axes that disagree go unnoticed",
        "trace/wires.py",
        "known.setdefault(axis, size) != size:",
        "known.setdefault(axis, size) is None:",
        "trace/axes",
    ),
    Mutant(
        "a view is called a copy",
        "trace/wires.py",
        'result="view" if shared else "copy"',
        'result="copy"',
        "trace/steps",
    ),
    Mutant(
        "trace: the keys of one call are called all keys",
        "trace/wires.py",
        '"new_key" if a == "key" else a',
        "a",
        "cache/trace_and_edit",
    ),
]
