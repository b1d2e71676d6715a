"""Who waits for a dead rank ends."""

import subprocess
import time

import pytest

from tests.mhsa_lib.parallel.processes import SCRIPT, TORCHRUN, environment


def test_who_waits_for_a_dead_rank_ends_at_once_with_an_error(ranks):
    error, seconds = ranks[0]["alone"]
    assert error != "NO ERROR"
    assert seconds < 2


@pytest.mark.slow  # what waits for a dead rank is above; this is torchrun's own part
def test_torchrun_ends_when_a_rank_dies(tmp_path):
    start = time.monotonic()
    run = subprocess.run(
        [*TORCHRUN, SCRIPT, tmp_path, "die"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.stdout.count("met") == 2  # both ranks had met, in lines that may be mixed up
    assert "went on" not in run.stdout
    assert run.returncode != 0
    assert time.monotonic() - start < 120  # they might have waited 600
