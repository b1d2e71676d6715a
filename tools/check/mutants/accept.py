"""Mistakes in `mhsa_lib/accept`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "any class is taken for a known one",
        "accept/known.py",
        "    if any(is_kind(type(module), kind) for kind in kinds):\n        return\n",
        "    return\n",
        "accept/known",
    ),
    Mutant(
        "what is frozen learns after a conversion",
        "accept/parameters.py",
        "    to.requires_grad_(given.requires_grad)\n",
        "",
        "accept/parameters",
    ),
    Mutant(
        "a hook is no reason to refuse",
        "accept/added.py",
        "            if not changes_nothing(hook):\n",
        "            if False:\n",
        "accept/added",
    ),
    Mutant(
        "an own forward of an instance goes unnoticed",
        "accept/added.py",
        "        if callable(theirs) and not own:",
        "        if False:",
        "accept/added",
    ),
    Mutant(
        "a patched class goes unnoticed",
        "accept/added.py",
        "        if not _is_written_there(method, owner, name):",
        "        if False:",
        "accept/known",
    ),
    Mutant(
        "one parameter at two places is taken for two",
        "accept/known.py",
        "            if first != here:",
        "            if False:",
        "accept/added",
    ),
    Mutant(
        "a missing bias of values may be packed while others learn",
        "accept/parameters.py",
        'if name != "W_K.bias"}',
        "if False}",
        "accept/parameters",
    ),
    Mutant(
        "a missing bias is one of zeros",
        "accept/parameters.py",
        "            to.register_parameter(part, None)\n",
        "            mine.data.zero_()\n",
        "accept/foreign",
    ),
    Mutant(
        "a patched method is known by its name alone",
        "accept/added.py",
        'return named == (owner.__module__, f"{owner.__qualname__}.{name}")',
        'return named[1] == f"{owner.__qualname__}.{name}"',
        "accept/known convert/llama/refused",
    ),
    Mutant(
        "a mixin behind a known class goes unnoticed",
        "accept/kinds.py",
        "return cls.__mro__[i:] == base.__mro__",
        "return True",
        "convert/llama/refused",
    ),
    Mutant(
        "what accelerate has left behind is refused",
        "accept/added.py",
        "if callable(theirs) and not own:",
        "if callable(theirs):",
        "accept/known",
    ),
]
