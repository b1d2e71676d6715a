"""The process group: processes that work together, each a rank with a number."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh


@contextmanager
def process_group(timeout: float | int = 60) -> Iterator[DeviceMesh]:
    """Yield the ranks that ``torchrun`` started as a mesh, or a mesh of one without it.

    With a GPU for every rank they talk by nccl, else by gloo on the CPU. A rank that has
    waited ``timeout`` seconds for another ends with an error.

    >>> with process_group() as mesh:
    ...     mesh.size()
    1
    """
    if timeout <= 0:
        raise ValueError(f"timeout={timeout} leaves no time to meet; pass seconds above 0.")
    local = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    device = "cuda" if local <= torch.cuda.device_count() else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    # Without torchrun there is no address to meet at, so a store in memory takes its place.
    alone: Any = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    dist.init_process_group(
        "nccl" if device == "cuda" else "gloo",
        timeout=timedelta(seconds=timeout),
        **({} if "RANK" in os.environ else alone),
    )
    try:
        yield init_device_mesh(device, (dist.get_world_size(),))
    finally:
        dist.destroy_process_group()
