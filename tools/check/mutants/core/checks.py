"""Mistakes in `mhsa_lib/checks`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "default width of a head: n_heads",
        "checks/values.py",
        "return d_model // n_heads",
        "return n_heads",
        "checks attention/parts",
    ),
    Mutant(
        "d_head ignored", "checks/values.py", "if d_head is not None:", "if False:", "checks"
    ),
    Mutant(
        "indivisible sizes are cut off",
        "checks/values.py",
        "if d_model % n_heads:",
        "if False:",
        "errors/sizes",
    ),
    Mutant("divides is off", "checks/values.py", "if size % count:", "if False:", "checks"),
    Mutant(
        "the repair does not work",
        "checks/values.py",
        "if n < count][-1:]",
        "if n < count][:1]",
        "checks",
    ),
    Mutant("0 is a size", "checks/values.py", "if size < 1:", "if size < 0:", "errors/sizes"),
    Mutant(
        "dropout 1 is accepted",
        "checks/values.py",
        "0 <= value < 1:",
        "0 <= value <= 1:",
        "errors/sizes",
    ),
    Mutant(
        "a mask of numbers is accepted",
        "checks/tensors.py",
        "if mask.dtype is not torch.bool:",
        "if False:",
        "errors/masks",
    ),
    Mutant(
        "a mask of the wrong size is accepted",
        "checks/tensors.py",
        "size in (1, room)",
        "True",
        "errors/masks",
    ),
    Mutant(
        "a mask may enlarge the scores",
        "checks/tensors.py",
        "len(given) <= len(wanted) and all",
        "all",
        "errors/masks",
    ),
    Mutant(
        "a wrong width is accepted",
        "checks/tensors.py",
        "if shape[-1] != d_model:",
        "if False:",
        "errors/widths",
    ),
    Mutant(
        "x and context of different batches",
        "checks/tensors.py",
        "if x.shape[:-2] != context.shape[:-2]:",
        "if False:",
        "errors/widths",
    ),
    Mutant(
        "a nested tensor is taken for a dense one",
        "checks/tensors.py",
        "    if tensor.is_nested:",
        "    if tensor is None:",
        "trace/dense",
    ),
    Mutant(
        "latent: as wide as anyone likes",
        "checks/values.py",
        "        if width > d_model:",
        "        if width > 10 * d_model:",
        "variants/latent/errors",
    ),
    Mutant(
        "cache: a context is taken for more tokens",
        "checks/tensors.py",
        "    if context is not None and context is not x:",
        "    if context is None and x is None:",
        "cache/failing_calls",
    ),
]
