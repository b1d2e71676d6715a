"""``import mhsa_lib`` changes nothing of the process it is imported in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mhsa_lib

ROOT = Path(mhsa_lib.__file__).parent.parent

PROGRAM = """
import random, sys, threading, warnings
import numpy, torch, einops, jaxtyping
from torch import optim
from torch.nn.modules import module
from torch.optim import optimizer
from torch.utils import _python_dispatch, _pytree
import torch.utils.flop_counter

def state():
    return {{
        "optimizer hooks": [
            dict(getattr(optimizer, name)) for name in dir(optimizer)
            if name.startswith("_global")
        ],
        "module hooks": [
            dict(getattr(module, name)) for name in dir(module)
            if name.startswith("_global") and isinstance(getattr(module, name), dict)
        ],
        # Our own types there touch no one else's.
        "pytree": {{
            kind for kind in _pytree.SUPPORTED_NODES if "mhsa_lib" not in kind.__module__
        }},
        "dispatch modes": _python_dispatch._get_current_dispatch_mode_stack(),
        "function modes": torch.overrides._get_current_function_mode_stack(),
        "random numbers": (
            torch.get_rng_state().tolist(), random.getstate(), str(numpy.random.get_state())
        ),
        "defaults": (torch.get_default_dtype(), torch.get_default_device()),
        "precision": (torch.get_float32_matmul_precision(), torch.backends.mkldnn.enabled),
        "switches": (
            torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
            torch.are_deterministic_algorithms_enabled(), torch.is_autocast_enabled("cpu"),
        ),
        "threads": (torch.get_num_threads(), threading.active_count()),
        "print": repr(vars(torch._tensor_str.PRINT_OPTS)),
        "hooks of Python": (sys.excepthook, sys.displayhook, sys.meta_path[:], sys.path[:]),
        "warnings": warnings.filters[:],
        "flops": {{*torch.utils.flop_counter.flop_registry}},
        "environment": dict(__import__("os").environ),
    }}

before = state()
import mhsa_lib
{spoil}
changed = [name for name, value in state().items() if value != before[name]]
print(changed)
"""

# The packed weights of CPUs register a hook on every optimizer; it goes with that file.
KNOWN = ["optimizer hooks"] if (ROOT / "mhsa_lib/fused/packing.py").exists() else []
SPOILED = {
    "": [],
    "optim.Optimizer; optimizer.register_optimizer_step_post_hook(print)": ["optimizer hooks"],
    "module.register_module_forward_hook(print)": ["module hooks"],
    "torch.rand(1)": ["random numbers"],
    "_pytree.register_constant(__import__('fractions').Fraction)": ["pytree"],
    "warnings.simplefilter('ignore')": ["warnings"],
    "torch.set_default_dtype(torch.float64)": ["defaults"],
}
FIRST, *OTHERS = [*SPOILED][1:]


@pytest.mark.nohook
@pytest.mark.parametrize(
    "spoil",
    ["", FIRST, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_an_import_changes_nothing_and_a_change_would_be_seen(spoil):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(spoil=spoil)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    if spoil == "":
        assert done.stdout == f"{KNOWN}\n", done.stdout + done.stderr
    else:
        assert all(f"'{name}'" in done.stdout for name in SPOILED[spoil]), done.stderr
