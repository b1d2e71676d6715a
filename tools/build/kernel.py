"""Assemble the WebAssembly of the language model: kernel.wat into kernel.js, in base64.

python -m tools.build.kernel

Run it by hand when kernel.wat changes. What it writes is in git, so that neither a reader nor
the book's build needs an assembler; a test compares the two.
"""

import base64
import subprocess
import tempfile
from pathlib import Path

from mhsa_book.widgets.figure import FOLDER
from tools import ROOT

ASSEMBLER = ROOT / "node_modules" / ".bin" / "wat2wasm"
ENGINE = FOLDER / "language_model_lab" / "engine"
SCRIPT = ENGINE / "kernel.js"
ABOVE = """// @ts-check
// kernel.wat as WebAssembly, in base64; written by tools/build/kernel.py.

export const KERNEL = [
"""
LINE = 90
"""Letters in a line of the script."""


def assembled() -> str:
    """The text of ``kernel.js``; ``FileNotFoundError`` where the assembler is not installed."""
    if not ASSEMBLER.exists():
        raise FileNotFoundError(f"{ASSEMBLER} is not there; run `npm ci` for the package wabt.")
    with tempfile.TemporaryDirectory() as folder:
        wasm = Path(folder) / "kernel.wasm"
        subprocess.run([ASSEMBLER, ENGINE / "kernel.wat", "-o", wasm], check=True)
        text = base64.b64encode(wasm.read_bytes()).decode()
    lines = [f'  "{text[at : at + LINE]}",\n' for at in range(0, len(text), LINE)]
    return f'{ABOVE}{"".join(lines)}].join("");\n'


if __name__ == "__main__":
    SCRIPT.write_text(assembled(), encoding="ascii", newline="\n")
    print(f"{SCRIPT.name}: {SCRIPT.stat().st_size} bytes")
