"""Run the tests of what you changed since the last commit; after a commit, of that commit.

python -m tools.check.related            see what is run, and run it
python -m tools.check.related FILE …     as if these files had changed

A file of the library asks for the tests of its name (a file, files whose names go on, a
folder), or for all tests of its room where there are none, and for its own doctests; a test
file asks for itself; anything else for the tests of the folder it lies in. A few tests of the
core are always among them, and any change of ``mhsa_lib`` has to keep what bounds the library,
the number of its lines among other things.

It ends with the notebooks that are stale, and fails when there is one: what they show was made
by other code than the one that is there now.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from tools import ROOT
from tools.build.dependencies import PACKAGES
from tools.build.notebooks import notebooks, why_stale

CORE = (
    "tests/mhsa_lib/attention",
    "tests/mhsa_lib/battery/test_wires.py::test_every_wire_matters",
)
BOUNDS = "tests/architecture/test_small.py"
BUILT = ("tests/pages", "tests/pages")  # need a built book: `make book pages`


def changed() -> list[str]:
    """Return the files that were edited and the new ones; if none, those of the last commit."""

    def ask(*question: str) -> list[str]:
        said = subprocess.run(["git", *question], cwd=ROOT, capture_output=True, text=True)
        return said.stdout.splitlines()

    edited = ask("diff", "--name-only", "HEAD") + ask("ls-files", "-o", "--exclude-standard")
    return edited or ask("diff", "--name-only", "HEAD~1")


def asked_for(name: str, root: Path = ROOT) -> list[str]:
    """Return what pytest is to run when one file has changed.

    >>> asked_for("mhsa_lib/fused/kernels.py")
    ['mhsa_lib/fused/kernels.py', 'tests/mhsa_lib/fused/test_kernels.py']
    >>> asked_for("mhsa_book/naive.py"), asked_for("notebooks/03_project.ipynb")
    (['mhsa_book/naive.py', 'tests/mhsa_book/test_naive.py'], ['tests/notebooks'])
    """
    file = Path(name)
    top, inside = file.parts[0], file.parts[1:-1][:1]
    mirror = Path("tests", top) if (root / "tests" / top).is_dir() else Path("tests")
    room = mirror / Path(*inside)
    if top == "tests":
        own = file if file.name.startswith("test_") else file.parent
        found = [own] if own != Path("tests") else []
    elif top in PACKAGES:
        named = (f"test_{file.stem}.py", f"test_{file.stem}_*.py", file.stem)
        tests = sorted(path.relative_to(root) for n in named for path in (root / room).glob(n))
        tests = tests if tests or room == mirror else [room]
        found = [file, *tests] if file.suffix == ".py" else tests
    else:
        found = [Path("tests", top), Path("tests", f"test_{file.stem.lower()}.py")]
    return [str(path) for path in found if (root / path).exists()]


def chosen(files: Sequence[str]) -> list[str]:
    """Return everything to run, the core included, each once and without what needs more."""
    wanted = {path for name in files for path in asked_for(name)} | {*CORE}
    if any(name.startswith("mhsa_lib/") for name in files):
        wanted.add(BOUNDS)
    return [path for path in sorted(wanted) if not path.startswith(BUILT)]


def stale() -> list[str]:
    """Return a line for each notebook that has to run again: its name, and why."""
    reasons = {path.stem: why_stale(nbformat.read(path, as_version=4)) for path in notebooks()}
    return [f"{name}: {reason}" for name, reason in reasons.items() if reason]


def main(*names: str) -> int:
    paths = chosen(names or changed())
    print("Tests of", *paths, sep="\n  ", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
    failed = subprocess.call([*command, "-m", "not (slow or browser)", *paths], cwd=ROOT)
    if old := stale():
        print(f"\nSTALE: {len(old)} notebooks; run `make notebooks`.", *old, sep="\n  ")
    return failed or int(bool(old))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
