"""What a benchmark found: ratios of time, errors, and the machine behind them."""

from dataclasses import dataclass, field
from typing import Any

from mhsa_book.results.cells import Cell, Goal, goal

UNIT, AGAIN, OURS, STAGES = "raw", "raw again", "ours", "five stages"
"""The unit of all ratios, the same code a second time, our fused module, our five stages."""

Quartiles = tuple[float, float, float]


@dataclass(frozen=True)
class Entry:
    """One implementation in one cell: quartiles of its time relative to raw, and its errors.

    ``error`` is the largest difference of an output from float64, ``gradient_error`` the
    largest of a gradient relative to that gradient's largest number. Without a ratio,
    ``reason`` says why.
    """

    name: str
    ratio: Quartiles | None = None
    error: float | None = None
    gradient_error: float | None = None
    rounds: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Race:
    """One cell: everybody's entry, and how sure the clock was.

    ``band`` is half the width of the A/A band: differences up to it are ties. ``bound`` is the
    least possible time relative to raw; ``against_best`` are quartiles of our time relative to
    the fastest correct peer's, round by round. A ``contaminated`` cell never had the machine
    for itself. Where we lost, ``profile`` has the milliseconds of ours and of the best peer by
    kind of operation.
    """

    cell: Cell
    entries: tuple[Entry, ...]
    raw_ms: float
    rounds: int
    thrown: int
    contaminated: bool
    band: float
    bound: float | None = None
    best_peer: str = ""
    against_best: Quartiles | None = None
    profile: dict[str, dict[str, float]] = field(default_factory=dict)

    def entry(self, name: str) -> Entry:
        """What was found about one implementation; ``ValueError`` if it did not take part."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        known = ", ".join(entry.name for entry in self.entries)
        raise ValueError(f"no implementation is called {name!r}; there are: {known}.")

    @property
    def ours(self) -> float | None:
        """Our median time relative to raw."""
        ratio = self.entry(OURS).ratio
        return None if ratio is None else ratio[1]

    @property
    def verdict(self) -> str:
        """Ours against the best correct peer: ahead, tie or behind; never inside the band."""
        if self.against_best is None:
            return "not run"
        middle = self.against_best[1]
        if middle > 1 + self.band:
            return "behind"
        return "ahead" if middle < 1 / (1 + self.band) else "tie"

    @property
    def goal(self) -> Goal | None:
        """The goal that was set for the cell."""
        return goal(self.cell)

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal, or without a time of ours."""
        if self.goal is None or self.ours is None or self.against_best is None:
            return None
        if self.goal.limit is None:
            return self.verdict != "behind"
        value = self.ours if self.goal.of == UNIT else self.against_best[1]
        return value <= self.goal.limit

    @property
    def lost(self) -> bool:
        """Whether the goal was missed, or somebody was faster by more than the band."""
        return self.met is False or self.verdict == "behind"

    def of_limit(self, name: str) -> float | None:
        """How close an implementation comes to the least possible time, from 0 to 1."""
        ratio = self.entry(name).ratio
        return None if ratio is None or self.bound is None else self.bound / ratio[1]

    def share(self, kind: str) -> float:
        """The part of our time that operations of a kind took, from the profile of a loss."""
        ours = self.profile[OURS]
        return ours[kind] / sum(ours.values())


@dataclass(frozen=True)
class Peak:
    """Extra memory of one forward pass at its highest, in MB of 10⁶ bytes, or why unknown."""

    name: str
    mask: str
    n_tokens: int
    mb: float | None = None
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Report:
    """One run: when, on what machine, how, and what came out."""

    date: str
    device: str
    machine: dict[str, Any]
    rates: dict[str, float]
    method: dict[str, Any]
    races: tuple[Race, ...] = ()
    peaks: tuple[Peak, ...] = ()
    gpu: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        peaks = f", {len(self.peaks)} peaks of memory" if self.peaks else ""
        return f"benchmark of {self.date} on {self.device}: {len(self.races)} cells{peaks}"

    def select(self, **wanted: Any) -> tuple[Race, ...]:
        """The cells whose fields have these values, as in ``select(mode="decode")``."""
        unknown = wanted.keys() - Cell.__dataclass_fields__.keys()
        if unknown:
            raise ValueError(f"a cell has no {', '.join(sorted(unknown))}.")
        return tuple(
            race
            for race in self.races
            if all(getattr(race.cell, name) == value for name, value in wanted.items())
        )

    def memory(self, mask: str = "full") -> dict[str, dict[int, float]]:
        """Extra MB by implementation and number of tokens."""
        found: dict[str, dict[int, float]] = {}
        for peak in self.peaks:
            if peak.mask == mask and peak.mb is not None:
                found.setdefault(peak.name, {})[peak.n_tokens] = peak.mb
        return found
