"""Build the wheel from a clean copy, so that nothing left over in the checkout gets into it."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools import PACKAGES, ROOT


def build(folder: Path) -> Path:
    """Build the wheel inside folder and return its path."""
    source = folder / "source"
    ignore = shutil.ignore_patterns("__pycache__")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    subprocess.check_call([*pip, "--wheel-dir", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, site: Path) -> None:
    """Install the wheel alone into the folder site."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-index"]
    subprocess.check_call([*pip, "--target", str(site), str(wheel)])
