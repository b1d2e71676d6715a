"""Write the live figure of the first page: the shape tracer at the sizes of GPT-2."""

import argparse
from pathlib import Path

from mhsa_lib.widgets import ShapeTracer
from tools import ROOT

FIRST = ROOT / "book" / "_generated" / "shape_tracer.html"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=FIRST, help="file to write")
    file = parser.parse_args().write
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        ShapeTracer(batch=1, seq=1024, d_model=768, n_heads=12).html(), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
