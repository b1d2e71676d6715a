"""Without any private name of torch the library is imported, and attention is right."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mhsa_lib

ROOT = Path(mhsa_lib.__file__).parent

PROGRAM = """
import sys, types
import torch
from torch.autograd import forward_ad
from torch.nn.modules import module
import torch.utils._python_dispatch, torch.utils._pytree

HOLDERS = {{
    "torch._C": torch._C,
    "forward_ad": forward_ad,
    "module": module,
    "dispatch": torch.utils._python_dispatch,
    "pytree": torch.utils._pytree,
}}

class Without(types.ModuleType):
    # The module as it is, but for one name; only our own module is shown this one.
    def __init__(self, whole, name):
        super().__init__(whole.__name__)
        self.__dict__.update({{k: v for k, v in vars(whole).items() if k != name}})

holder, name = {holder!r}, {name!r}
whole = HOLDERS[holder]
assert hasattr(whole, name), "torch has no such name: the simulation shows nothing"
hidden = Without(whole, name)
import importlib.util
spec = importlib.util.find_spec("mhsa_lib._torch_private")
places = {{"torch._C": ("torch._C",), "dispatch": ("torch.utils._python_dispatch",),
          "pytree": ("torch.utils._pytree",)}}
old = {{place: sys.modules[place] for place in places.get(holder, ())}}
for place in old:
    sys.modules[place] = hidden
parent, attribute = {{
    "torch._C": (torch, "_C"), "forward_ad": (torch.autograd, "forward_ad"),
    "module": (torch.nn.modules, "module"), "dispatch": (torch.utils, "_python_dispatch"),
    "pytree": (torch.utils, "_pytree"),
}}[holder]
setattr(parent, attribute, hidden)
private = importlib.util.module_from_spec(spec)
# Executed alone, before the package: nothing else sees the gap.
package = types.ModuleType("mhsa_lib")
package.__path__ = [{root!r}]
sys.modules["mhsa_lib"] = package
sys.modules["mhsa_lib._torch_private"] = private
spec.loader.exec_module(private)
setattr(parent, attribute, whole)
sys.modules.update(old)
if holder == "torch._C":  # it looks one up in each call
    private.torch = types.SimpleNamespace(**(vars(torch) | {{"_C": hidden}}))
del sys.modules["mhsa_lib"]

import mhsa_lib
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, edit, masks
assert sys.modules["mhsa_lib._torch_private"] is private
torch.manual_seed(0)
mha, x = MultiHeadAttention(12, 3).eval(), torch.randn(2, 6, 12)
fused = FusedMultiHeadAttention(12, 3)
fused.load_state_dict(FusedMultiHeadAttention.from_attention(mha).state_dict())
w = {{name: p for name, p in mha.named_parameters()}}
heads = [x @ w[f"project.W_{{n}}.weight"].T for n in "QKV"]
q, k, v = (h.unflatten(-1, (3, 4)).transpose(1, 2) for h in heads)
z = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
y = z.transpose(1, 2).flatten(2) @ w["W_O.weight"].T
for attention in (mha, fused):
    torch.testing.assert_close(attention(x, mask=masks.causal), y)
with edit(mha, "z", torch.zeros_like):
    assert not mha(x).any()
assert (mha(x) != 0).any()
print("right")
"""

NAMES = [
    ("torch._C", "_are_functorch_transforms_active"),
    ("torch._C", "_current_graph_task_id"),
    ("forward_ad", "_current_level"),
    ("module", "_global_forward_hooks"),
    ("module", "_global_backward_pre_hooks"),
    ("dispatch", "TorchDispatchMode"),
    ("pytree", "tree_leaves"),
]


@pytest.mark.nohook
@pytest.mark.parametrize(
    ("holder", "name"),
    [*NAMES[:2], *(pytest.param(*each, marks=pytest.mark.slow) for each in NAMES[2:])],
)
def test_a_private_name_may_be_gone(holder, name):
    program = PROGRAM.format(holder=holder, name=name, root=str(ROOT))
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout == "right\n", done.stderr


def private_names(path):
    """Imports of, and attributes on, torch that begin with an underscore, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("torch."):
            names = ast.unparse(node).split(".")
        else:
            continue
        if any(name.startswith("_") and not name.startswith("__") for name in names):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {'.'.join(names)}"


ELSEWHERE = ("fused/", "cache/", "convert/", "parallel/")
"""Packages whose names are still to move."""


def test_one_module_knows_the_private_names():
    found = [
        name
        for path in sorted(ROOT.rglob("*.py"))
        if path.name != "_torch_private.py"
        for name in private_names(path)
        if not name.startswith(ELSEWHERE)
    ]
    assert found == []
    assert list(private_names(ROOT / "_torch_private.py"))
