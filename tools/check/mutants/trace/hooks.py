"""Mistakes in `mhsa_lib/tracing/hooks`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "a block leaves its hooks",
        "trace/hooks.py",
        "        self._stack.close()",
        "        pass",
        "trace/hooks",
    ),
    Mutant(
        "a block acts in every thread",
        "trace/hooks.py",
        "return unknown and torch._C._current_graph_task_id() != -1",
        "return True",
        "trace/threads",
    ),
    Mutant(
        "a block misses the pass that a backward thread computes again",
        "trace/hooks.py",
        "return unknown and torch._C._current_graph_task_id() != -1",
        "return False",
        "trace/threads",
    ),
    Mutant(
        "a block acts on copies of its module",
        "trace/hooks.py",
        "if called is module and self._acts()",
        "if self._acts()",
        "trace/hooks",
    ),
    Mutant(
        "a block acts on replicas, or not, as it happens",
        "trace/hooks.py",
        'if getattr(called, "_is_replica", False) and not always:',
        "if called is None:",
        "trace/threads",
    ),
    Mutant(
        "compiled code goes on while a block is open",
        "trace/hooks.py",
        'torch.compiler.set_stance("force_eager")',
        'torch.compiler.set_stance("default")',
        "trace/compiled",
    ),
    Mutant(
        "the first block that ends gives the compiler back",
        "trace/hooks.py",
        "            if not self._n_open and self._stance is not None:",
        "            if self._stance is not None:",
        "trace/compiled",
    ),
    Mutant(
        "nothing is ever compiled again after a block",
        "trace/hooks.py",
        "self._stance.__exit__(None, None, None)",
        "pass",
        "trace/compiled",
    ),
    Mutant(
        "what only watches is refused",
        "trace/hooks.py",
        'return getattr(hook, "only_watches", False) or',
        "return",
        "accept/added",
    ),
]
