"""Mistakes in `mhsa_book/provenance`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "provenance: wires keep their past, so every number comes from everything",
        "trace/provenance.py",
        "leaves[wire] = value.detach().requires_grad_()",
        "leaves[wire] = value",
        "trace/provenance",
    ),
    Mutant(
        "provenance: a matrix stands turned, but not the places in it",
        "trace/provenance.py",
        "gradient = gradient.T if turned.get(name) else gradient",
        "gradient = gradient",
        "trace/provenance",
    ),
    Mutant(
        "provenance: zeros hide what a number depends on",
        "trace/provenance.py",
        "        _nudge(exact)\n",
        "",
        "trace/provenance",
    ),
    Mutant(
        "provenance: no gradients around, no parents",
        "trace/provenance.py",
        "with torch.inference_mode(False), torch.enable_grad():",
        "if True:",
        "trace/provenance",
    ),
]
