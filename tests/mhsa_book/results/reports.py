"""A report of one made-up race, with a peer whose name is no HTML."""

from mhsa_book.results.cells import Cell
from mhsa_book.results.records import AGAIN, OURS, UNIT, Entry, Peak, Race, Report

CELL = Cell(8, 512, 512, 8, "causal")


def made(ours=0.5, against=None, band=0.03, cell=CELL, **more):
    entries = (
        Entry(UNIT, (1.0, 1.0, 1.0), 1e-6, None, 9),
        Entry(AGAIN, (0.99, 1.0, 1.01), 1e-6, None, 9),
        Entry(OURS, (ours - 0.01, ours, ours + 0.01), 2e-6, None, 9),
        Entry("<b>peer</b>", (1.1, 1.2, 1.3), 1e-6, None, 9),
        Entry("absent", reason="not run here: absent is not installed"),
    )
    against = ours if against is None else against
    return Race(
        cell, entries, 12.5, 9, 2, False, band,
        bound=0.25, best_peer=UNIT, against_best=(against, against, against), **more,
    )  # fmt: skip


def report(*races):
    peaks = (Peak(OURS, "full", 512, 5.5), Peak("absent", "full", 512, reason="not run here"))
    return Report(
        "2026-01-31", "cpu", {"cpu": "x", "cores": 2}, {"exp": 1.0}, {"rounds": 9},
        races or (made(),), peaks,
    )  # fmt: skip
