"""What PyTorch's kernels took on a GPU, need by need: the stored run, and where it was made.

``python -m mhsa_book.bench.kernels_on_a_gpu`` makes the file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "kernels_on_a_gpu.json"


@dataclass(frozen=True)
class Row:
    """One way to meet one need, and what it took.

    ``need`` is what is asked, ``n_key`` counts the keys. ``ms`` is the median time of a call,
    ``tflops`` the FLOPs of both products, of the allowed pairs only, over that time.
    ``peak_mb`` is the memory that the call needed at its highest, its result included, and
    ``error`` the largest distance of an output to that of the definition in float64. A way
    that did not run has a ``reason`` instead of numbers.
    """

    need: str
    n_query: int
    n_key: int
    batch: int
    n_kv_heads: int
    way: str
    ms: float | None = None
    tflops: float | None = None
    peak_mb: float | None = None
    error: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Measured:
    """A run: its date and card, the version of torch, the best rates, and its rows.

    ``rates`` are in GFLOP/s for matrix products and in GB/s for reading a buffer. ``shape``
    has what all rows share: heads, their width, the window, the cap and so on.
    """

    date: str
    gpu: str
    torch: str
    rates: dict[str, float]
    shape: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def where(self) -> str:
        """Card, version of torch and date, in one line."""
        version = ".".join(self.torch.split(".")[:2])
        return f"{self.gpu}, torch {version}, {self.date}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The needs, in the order of the run."""
        return tuple(dict.fromkeys(row.need for row in self.rows))

    def of(self, need: str, n_key: int, batch: int = 1) -> dict[str, Row]:
        """The rows of a need by the name of the way, those left out that did not run.

        Raises ``ValueError`` for a need or a size that the run does not have.
        """
        fits = [row for row in self.rows if row.need == need]
        found = {
            row.way: row for row in fits if (row.n_key, row.batch) == (n_key, batch) and row.ms
        }
        if not found:
            sizes = sorted({(row.n_key, row.batch) for row in fits})
            raise ValueError(
                f"there are no rows of need={need!r} with n_key={n_key} and batch={batch}; "
                f"needs are {[*self.needs]}, sizes (n_key, batch) of this one {sizes}."
            )
        return found

    def columns(
        self, need: str, n_key: int, ways: tuple[str, ...], batch: int = 1
    ) -> dict[str, list[float]]:
        """Columns for a table with a row for each of ``ways``: ms, MB, and error times 10⁴.

        >>> kept().columns("window", 16_384, ("SDPA, boolean tensor", "FlexAttention"))["ms"]
        [14.77, 1.052]
        """
        rows = self.of(need, n_key, batch)
        found = [rows[way] for way in ways]
        return {
            "ms": [row.ms or 0.0 for row in found],
            "MB": [row.peak_mb or 0.0 for row in found],
            "error, 1e-4": [1e4 * (row.error or 0.0) for row in found],
        }


def kept(file: Path = FILE) -> Measured:
    """The stored run.

    >>> kept().where
    'NVIDIA H200, torch 2.11, 2026-11-26'
    """
    stored = json.loads(file.read_text(encoding="utf-8"))
    return Measured(
        stored["date"],
        stored["gpu"],
        stored["machine"]["versions"]["torch"],
        stored["rates"],
        stored["shape"],
        tuple(Row(**row) for row in stored["rows"]),
    )
