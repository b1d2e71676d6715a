"""Run every plain notebook as Colab would, and compare each output with the stored one.

They are written to an empty folder outside the repository and see only the built wheel; a
first notebook proves it by comparing where the packages were imported from. Whether a notebook
is out of date is asked before, without running it: `tools.build.notebooks --check`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from tools import PACKAGES
from tools.build import plain
from tools.check import wheel

SANITIZE = Path(__file__).parent / "sanitize.cfg"
PATIENCE = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.output_timeout = 60  # nbval waits 5 s for an output: too few on a busy machine
"""


def probe(site: Path) -> nbformat.NotebookNode:
    """Return a notebook that fails unless both packages come from the folder site."""
    code = "import mhsa_book, mhsa_lib, pathlib\nfor package in (mhsa_lib, mhsa_book):\n"
    code += "    print(pathlib.Path(package.__file__).parent)"
    expected = nbformat.v4.new_output(
        "stream", text="".join(f"{site / name}\n" for name in PACKAGES)
    )
    cell = nbformat.v4.new_code_cell(code, execution_count=1, outputs=[expected])
    return nbformat.v4.new_notebook(cells=[cell])


def nbval(folder: Path, *, site: Path) -> int:
    """Run nbval over a folder of notebooks whose kernels find packages in site first."""
    (folder / "pytest.ini").write_text(
        "[pytest]\n", encoding="utf-8"
    )  # not the repository's configuration
    (folder / "conftest.py").write_text(PATIENCE, encoding="utf-8")
    options = ["-q", "-c", "pytest.ini", "--rootdir=.", "-p", "no:cacheprovider"]
    options += ["-n", "2", "--dist", "loadfile", "--nbval", "--nbval-current-env"]
    options += ["--durations=25", "--durations-min=5"]
    options += ["--nbval-cell-timeout=600", f"--nbval-sanitize-with={SANITIZE}"]
    env = {**os.environ, "PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    return subprocess.call([sys.executable, "-m", "pytest", *options], cwd=folder, env=env)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        folder, site = top / "notebooks", top / "site"
        wheel.install(wheel.build(top), site)
        written = plain.write(folder)
        nbformat.write(probe(site), folder / "00_imports_the_wheel.ipynb")
        print(f"{len(written)} notebooks, with {next(top.glob('*.whl')).name}", flush=True)
        return nbval(folder, site=site)


if __name__ == "__main__":
    sys.exit(main())
