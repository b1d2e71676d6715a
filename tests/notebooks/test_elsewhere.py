"""Every notebook on a device of its own, with its exercises solved: the same numbers.

No GPU is needed: `tests.helpers.twin` is a device that the CPU plays. A tensor made in another
place than the notebook's device ends in an error, as on a GPU.
"""

import os
import subprocess
import sys

import pytest

from tools import ROOT
from tools.build.notebooks import notebooks

CPU = {"15_what_it_costs", "16_fused", "18_the_cache", "20_heads_across_devices"}
"""They measure the CPU, or run processes of it, and say so in their first cell."""

TRAINS = {"02", "04", "13", "21", "22", "23", "24", "25", "a1"}
"""Slower by far on a device that is played."""

KNOWN = {
    # FLOPs by wire: the recorder tells views by the memory they share, which a twin cannot say
    "22_overlap": ["22-047"],
    "24_compose_dynamically": ["24-038"],
}


def marked(path):
    slow = [pytest.mark.slow] if path.stem[:2] in TRAINS else []
    return pytest.param(path, id=path.stem, marks=slow)


@pytest.mark.parametrize("path", [marked(path) for path in notebooks()])
def test_a_notebook_runs_on_another_device_with_the_same_numbers(path, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "tests.helpers.elsewhere", str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    found = [line for line in run.stdout.splitlines() if line]
    known = KNOWN.get(path.stem, [])
    assert [line for line in found if not line.startswith(tuple(known) or "-")] == []


def test_only_what_measures_the_cpu_stays_there():
    asked = {
        path.stem for path in notebooks() if "compute_on(default_device())" in path.read_text()
    }
    assert {path.stem for path in notebooks()} - asked == CPU
