"""Every exhibit, trained again: the stored file comes out."""

import json
import math
import subprocess
import sys

import pytest

from mhsa_book.museum.measured import FILE


def close(found, stored):
    """Floats of another machine: to a hundredth; None stands for NaN."""
    return stored is found is None or math.isclose(found, stored, abs_tol=0.01)


@pytest.mark.slow
def test_all_of_it_again(tmp_path):
    out = tmp_path / "again.json"
    subprocess.run([sys.executable, "-m", "mhsa_book.museum", "--out", str(out)], check=True)
    again = json.loads(out.read_text(encoding="utf-8"))
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    for name, rows in stored["exhibits"].items():
        for row, new in zip(rows, again["exhibits"][name], strict=True):
            assert close(new["borrowed"], row["borrowed"]), name
            assert all(map(close, new["losses"], row["losses"])), name
