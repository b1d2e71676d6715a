"""Write the live figures of the pages of prose: nine heads, the way into one, and all 270."""

import argparse
from pathlib import Path

from mhsa_book.widgets import LanguageModelLab, NineHeads, SentenceLab
from tools import ROOT

FOLDER = ROOT / "book" / "_generated"
FIGURES = {
    "nine_heads.html": NineHeads,
    "sentence_lab.html": SentenceLab,
    "language_model_lab.html": LanguageModelLab,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=FOLDER, help="folder to write into")
    folder = parser.parse_args().write
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in FIGURES.items():
        (folder / name).write_text(figure().html(), encoding="utf-8")


if __name__ == "__main__":
    main()
