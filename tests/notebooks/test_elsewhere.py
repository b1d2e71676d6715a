"""Every notebook with its exercises solved, and on a device of its own: the same numbers.

No GPU is needed: `tests.helpers.twin` is a device that the CPU plays. A tensor made in another
place than the notebook's device ends in an error, as on a GPU.
"""

import os
import subprocess
import sys

import pytest

from tools import ROOT
from tools.build.notebooks import notebooks

ALL = {path.stem: path for path in notebooks()}

CPU = {"15_what_it_costs", "16_fused", "17_the_benchmark", "18_the_cache"}
CPU |= {"20_heads_across_devices", "27_all_variants_side_by_side", "lab_12_kernels_on_a_cpu"}
CPU |= {name for name in ALL if name.startswith("a3_guide_")}
"""They measure the CPU, run processes of it, or show what it does; their first cell says so."""

ALWAYS = {"05_attend"}
"""One that is made of stages and pictures; the others are slow."""

KNOWN = {
    # FLOPs by wire: the recorder tells views by the memory they share, which a twin cannot say
    "22_overlap": ("22-047",),
    "lab_19_compose": ("lab19-101",),
}

MOVED = [name for name in ALL if name not in CPU]


def faults(name, where, folder):
    run = subprocess.run(
        [sys.executable, "-m", "tests.helpers.elsewhere", str(ALL[name]), where],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return [line for line in run.stdout.splitlines() if line]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in ALWAYS else [pytest.mark.slow]) for n in MOVED],
)
def test_another_device_gives_the_same_numbers(name, tmp_path):
    found = faults(name, "twin", tmp_path)
    assert [line for line in found if not line.startswith(KNOWN.get(name, "never"))] == []


@pytest.mark.slow  # the others have their solutions in place above
@pytest.mark.parametrize("name", sorted(CPU))
def test_solutions_in_the_place_of_the_stubs_are_right(name, tmp_path):
    assert faults(name, "cpu", tmp_path) == []


def test_only_what_measures_the_cpu_stays_there():
    asked = {
        name
        for name in ALL
        if "compute_on(default_device())" in ALL[name].read_text(encoding="utf-8")
    }
    assert ALL.keys() - asked == CPU
