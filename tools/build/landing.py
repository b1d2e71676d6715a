"""Write the live figure of the first page: multi-head attention in a minute."""

import argparse
from pathlib import Path

from mhsa_book.widgets import SentenceLab
from tools import ROOT

FIRST = ROOT / "book" / "_generated" / "sentence_lab.html"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=FIRST, help="file to write")
    file = parser.parse_args().write
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SentenceLab().html(), encoding="utf-8")


if __name__ == "__main__":
    main()
