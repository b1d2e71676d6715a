"""Run one long step of the Makefile and say what it is and how long it took.

python tools/step.py "Unit tests" pytest tests

Needs no package, because it also announces the step that installs them.
"""

import subprocess
import sys
import time


def main(label: str, *command: str) -> int:
    print(f"\n── {label} …", flush=True)
    start = time.perf_counter()
    code = subprocess.call(command)
    seconds = time.perf_counter() - start
    print(f"── {label}: {'ok' if code == 0 else 'FAILED'} ({seconds:.0f} s)", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
