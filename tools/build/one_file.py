"""Lay the file that readers take away beside its page, under the name that it gets there."""

from tools import ROOT
from tools.build.symptoms import FOLDER

SOURCE = ROOT / "mhsa_book" / "one_file.py"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "attention.py").write_bytes(SOURCE.read_bytes())
    print(f"attention.py, {SOURCE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
