"""Two ranks, started once; ``on_ranks`` says what each does."""

import json
import subprocess
import sys

import pytest
import torch.distributed as dist

from tests.helpers import on_ranks
from tests.mhsa_lib.parallel.processes import SCRIPT, environment


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """What both ranks found in all experiments, and how they ended."""
    folder = tmp_path_factory.mktemp("ranks")
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    common = {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the store is here, not in rank 0
        "TORCHELASTIC_RESTART_COUNT": "0",  # torch 2.5 asks for it then
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
    }
    processes = []
    for rank in "01":
        with (folder / f"{rank}.txt").open("w", encoding="utf-8") as said:
            processes.append(
                subprocess.Popen(
                    [sys.executable, SCRIPT, folder],
                    env=environment(**common, RANK=rank, LOCAL_RANK=rank),
                    stderr=said,
                )
            )
    try:
        ended = [process.wait(timeout=240) for process in reversed(processes)]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert ended == [on_ranks.DEAD, 0], [
        (folder / f"{r}.txt").read_text(encoding="utf-8") for r in "01"
    ]
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in "01"]
