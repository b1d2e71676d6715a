"""The library stays small: its lines, its languages, no clock, and torch's private names."""

import ast
import re
import subprocess
import sys

import pytest

from tests.architecture.library import MODULES, TREE, imports, path, tree

LIBRARY = [module for module in MODULES if module.startswith("mhsa_lib")]
PRIVATE = "mhsa_lib._torch_private"


MOST_LINES = 8_200
"""What the library has today. It may only fall; the goal is 6,800."""


def test_the_library_does_not_grow():
    lines = sum(len(path(m).read_text(encoding="utf-8").splitlines()) for m in LIBRARY)
    assert lines <= MOST_LINES, (
        f"mhsa_lib has {lines:,} lines of Python, {lines - MOST_LINES:,} too many: it may have "
        f"MOST_LINES={MOST_LINES:,}, and that number only falls. Write something else in it "
        f"shorter, or move what only the book needs to mhsa_book."
    )


def test_the_library_holds_python_and_nothing_else():
    folder = TREE / "mhsa_lib"
    files = [f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    assert {file.suffix for file in files} == {".py", ".typed"}


CLOCKS = {"time", "timeit"}


@pytest.mark.parametrize("module", LIBRARY)
def test_no_clock_decides_anything(module):
    assert not imports(ast.walk(tree(module))) & CLOCKS


def private_names(code: ast.AST) -> set[str]:
    """Private parts of torch that code imports or reads: ``torch._C``, ``t._version``."""
    found = set()
    for node in ast.walk(code):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "torch":
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            found |= {name for name in names if name.startswith("_")}
        if isinstance(node, ast.Import):
            parts = [part for alias in node.names for part in alias.name.split(".")]
            found |= {part for part in parts if parts[0] == "torch" and part.startswith("_")}
        if isinstance(node, ast.Attribute) and re.match(r"_[A-Za-z]", node.attr):
            whole = ast.unparse(node)
            if whole.startswith("torch.") or node.attr in OF_TENSORS_AND_MODULES:
                found.add(node.attr)
    return found


OF_TENSORS_AND_MODULES = {
    *("_version", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks"),
    *("_backward_pre_hooks", "_orig_mod", "_compiled_call_impl", "_is_replica", "_schema"),
    *("_current_level", "_cdata", "_torchdynamo_disable"),
}


@pytest.mark.parametrize("module", [m for m in LIBRARY if m != PRIVATE])
def test_private_names_of_torch_are_read_in_one_module(module):
    assert private_names(tree(module)) == set()


@pytest.mark.parametrize(
    "code",
    ["import torch._C", "from torch._dynamo import x", "torch._C.f()", "x._version"],
)
def test_a_private_name_is_noticed(code):
    assert private_names(ast.parse(code))


STATE = """
import random, sys, threading, warnings
import numpy, torch
from torch.optim import optimizer
from torch.nn.modules import module
from torch.utils import _pytree

def global_hooks(of):
    found = {name: value for name, value in vars(of).items() if "_global_" in name}
    return {name: dict(value) for name, value in found.items() if isinstance(value, dict)}

def state():
    return (
        global_hooks(module), global_hooks(optimizer),
        torch.get_rng_state().tolist(), random.getstate(),
        str(numpy.random.get_state()), torch.get_default_dtype(), torch.get_default_device(),
        # Masks register themselves there, so that a program may take one; nobody else's type.
        {kind for kind in _pytree.SUPPORTED_NODES if "mhsa_lib" not in kind.__module__},
        sys.excepthook, list(warnings.filters),
        torch.is_grad_enabled(), threading.active_count(), torch.get_num_threads(),
        torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack(),
    )

before = state()
import mhsa_lib
import mhsa_lib.fused, mhsa_lib.convert, mhsa_lib.cache, mhsa_lib.rope
names = "hooks optimizers torch random numpy dtype device pytree excepthook warnings grad "
names += "threads cores dispatch function"
for name, one, other in zip(names.split(), before, state(), strict=True):
    assert one == other, name
print("nothing changed")
"""


def test_importing_the_library_changes_no_state_of_the_process():
    done = subprocess.run(
        [sys.executable, "-c", STATE], cwd=TREE, capture_output=True, text=True
    )
    assert done.stdout == "nothing changed\n", done.stderr
