"""All cells of a suite, one after another, into one report."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from mhsa_book import plots
from mhsa_book.bench import clock, judge, machine, memory, problem
from mhsa_book.bench.judge import Effort
from mhsa_book.results import cells, tables
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import OURS, Peak, Race, Report

SUITES = ("grid", "decode", "memory", "all")
QUICK, FULL = Effort(rounds=5, seconds=1.0), Effort(rounds=9, seconds=3.0)

Progress = Callable[[list[Any]], Iterable[Any]]


def chosen(suite: str, quick: bool, only: Sequence[str] = ("",)) -> list[Cell]:
    """The cells of a suite with one of these words; memory has none, it counts lengths."""
    found = cells.grid(quick) if suite in ("grid", "all") else []
    found += cells.decode(quick) if suite in ("decode", "all") else []
    return [cell for cell in found if any(word in repr(cell) for word in only)]


def measure(
    suite: str,
    effort: Effort,
    *,
    quick: bool = False,
    progress: Progress = iter,
    say: Callable[[str], None] = print,
    todo: list[Cell] | None = None,
) -> Report:
    """Run a suite on the CPU; ``say`` gets a line per cell, ``todo`` replaces its cells."""
    rates = machine.rates()
    todo = chosen(suite, quick) if todo is None else todo
    races = [_said(judge.run(cell, rates, effort), say) for cell in progress(todo)]
    found: list[Peak] = []
    if suite in ("memory", "all"):
        for name, mask, lengths in progress(memory.tasks(quick)):
            found += memory.peaks(name, mask, lengths, torch.get_num_threads())
    return Report(
        machine.today(),
        "cpu",
        machine.description(),
        rates,
        method(effort),
        tuple(races),
        tuple(found),
    )


def method(effort: Effort) -> dict[str, Any]:
    """How it was timed, for the report."""
    return {
        **asdict(effort),
        "block_seconds": clock.BLOCK,
        "foreign_load": clock.FOREIGN,
        "least_band": clock.LEAST_BAND,
        "output_tolerance": problem.OUTPUT,
        "our_tolerance": problem.OURS,
        "gradient_tolerance": problem.GRADIENT,
    }


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw the cells by mode and precision, and the memory, as PNG files; their paths."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    written = []

    def keep(name: str) -> None:
        written.append(folder / f"{name}.png")
        plt.savefig(written[-1])
        plt.close("all")

    for mode in cells.MODES:
        for precision in cells.PRECISIONS:
            races = report.select(mode=mode, precision=precision)
            if races:
                plots.ratios(races)
                keep(f"{mode}-{precision}")
    if any(race.profile for race in report.races):
        plots.profiles(report.races)
        keep("profiles")
    for mask in cells.MASKS:
        if report.memory(mask):
            plots.memory(report.memory(mask))
            keep(f"memory-{mask}")
    return written


def wrong(report: Report) -> list[str]:
    """Cells in which our own module was wrong, or failed."""
    return [
        f"{race.cell!r}: {race.entry(OURS).reason}"
        for race in report.races
        if race.entry(OURS).reason
    ]


def _said(race: Race, say: Callable[[str], None]) -> Race:
    row = tables.table([race]).rows[0]
    say(f"{row[0]}: ours {row[2] or 'not timed'}, best {row[3]}, band {row[5]}, {row[6]}")
    return race
