"""How ranks are started: processes on the CPU that need no GPU and no name but localhost."""

import os
import sys
from pathlib import Path

import mhsa_lib
from tests.helpers import on_ranks

SCRIPT = Path(on_ranks.__file__)
TORCHRUN = [
    *(sys.executable, "-m", "torch.distributed.run"),
    *("--standalone", "--local-addr=localhost", "--nproc-per-node=2"),
]


def environment(**more: str) -> dict[str, str]:
    """The library under test, one thread each, no GPU, no name but localhost."""
    path = str(Path(mhsa_lib.__file__).parent.parent)
    quiet = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    if sys.platform == "linux":
        quiet["GLOO_SOCKET_IFNAME"] = "lo"
    return os.environ | quiet | more
