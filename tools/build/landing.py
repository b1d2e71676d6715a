"""Write the live figures of the first page: a language model's heads, and the way into one."""

import argparse
from pathlib import Path

from mhsa_book.widgets import NineHeads, SentenceLab
from tools import ROOT

FOLDER = ROOT / "book" / "_generated"
FIGURES = {"nine_heads.html": NineHeads, "sentence_lab.html": SentenceLab}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=FOLDER, help="folder to write into")
    folder = parser.parse_args().write
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in FIGURES.items():
        (folder / name).write_text(figure().html(), encoding="utf-8")


if __name__ == "__main__":
    main()
