"""A run as tables, in text and in HTML: a row per cell, per implementation, or per length."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from mhsa_book.results.records import OURS, Entry, Quartiles, Race, Report
from mhsa_lib.tracing.drawing import CELL, NUMBER


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of words under a caption; it draws itself in a notebook.

    On a page of the book a ``sorted`` one is sorted by a click on a column's head, and filtered
    by words.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sorted: bool = False

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = [
            "  ".join(f"{word:{w}}" for word, w in zip(row, widths, strict=True)).rstrip()
            for row in (self.head, *self.rows)
        ]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col" style="{CELL}">{escape(w)}</th>' for w in self.head)
        body = "".join(
            f'<tr><th scope="row" style="{CELL};min-width:12em">{escape(row[0])}</th>'
            + "".join(f'<td style="{_style(word)}">{escape(word)}</td>' for word in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return (
            f'<div class="mhsa-bench"><p style="margin:0 0 .3em">{escape(self.caption)}</p>'
            f'<div role="group" tabindex="0" aria-label="{escape(self.caption)}" '
            'style="overflow-x:auto;max-width:100%">'
            f"<table{' data-sorted' * self.sorted} "
            'style="border-collapse:collapse;font-size:.85em;color:inherit;margin:0">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
        )


def ratios(races: Sequence[Race]) -> Table:
    """A row per cell, its sizes in columns of their own: ours, the best correct peer, both."""
    rows = tuple(
        (
            race.cell.mode,
            str(race.cell.batch),
            str(race.cell.n_tokens),
            str(race.cell.d_model),
            f"{race.cell.n_heads} on {race.cell.kv_heads}",
            "" if race.cell.mode == "decode" else race.cell.mask,
            race.cell.precision,
            str(race.cell.n_layers),
            f"{race.raw_ms:.3g}",
            _middle(race.entry(OURS).ratio),
            race.best_peer,
            _middle(race.entry(race.best_peer).ratio),
            _middle(race.against_best),
        )
        for race in races
    )
    head = (
        "mode", "batch", "tokens", "d_model", "heads", "mask", "precision", "layers",
        "raw, ms", "ours / raw", "best peer", "its / raw", "ours / best",
    )  # fmt: skip
    caption = "Time relative to raw, median of interleaved rounds; below 1 is faster."
    return Table(caption, head, rows, sorted=True)


def table(races: Sequence[Race]) -> Table:
    """A row per cell: ours, the best correct peer, the band, the verdict and the goal."""
    rows = tuple(
        (
            repr(race.cell),
            f"{race.raw_ms:.3g}",
            _span(race.entry(OURS).ratio),
            f"{race.best_peer} {_middle(race.entry(race.best_peer).ratio)}",
            _middle(race.against_best),
            f"±{race.band:.0%}",
            race.verdict + (", disturbed" if race.contaminated else ""),
            _goal(race),
            {True: "yes", False: "no", None: ""}[race.met],
            _percent(race.of_limit(OURS)),
        )
        for race in races
    )
    head = (
        "cell", "raw, ms", "ours / raw (quartiles)", "best peer / raw", "ours / best", "band",
        "verdict", "goal", "met", "of the limit",
    )  # fmt: skip
    return Table("Time relative to raw, median of interleaved rounds.", head, rows)


def entries(race: Race) -> Table:
    """A row per implementation of one cell: ratio, rounds, errors, or why it was not timed."""
    fastest = sorted(race.entries, key=lambda e: e.ratio[1] if e.ratio else float("inf"))
    rows = tuple(
        (
            entry.name,
            _span(entry.ratio),
            str(entry.rounds or ""),
            _percent(race.of_limit(entry.name)),
            _small(entry.error),
            _small(entry.gradient_error),
            entry.reason,
        )
        for entry in fastest
    )
    head = ("implementation", "time / raw", "rounds", "of the limit", "error", "gradient", "")
    caption = f"{race.cell!r}: raw takes {race.raw_ms:.3g} ms, A/A band ±{race.band:.0%}."
    return Table(caption, head, rows)


def profiles(races: Sequence[Race]) -> Table:
    """Where we lost, our milliseconds by kind of operation and below them the best peer's."""
    lost = [race for race in races if race.profile]
    rows = tuple(
        (repr(race.cell) if name == OURS else "", name, *(f"{ms:.3g}" for ms in kinds.values()))
        for race in lost
        for name, kinds in race.profile.items()
    )
    kinds = lost[0].profile[OURS] if lost else ()
    caption = "Milliseconds of a call under the profiler, whose own time is among the calls."
    return Table(caption, ("cell", "implementation", *kinds), rows)


def memory(report: Report, mask: str = "full") -> Table:
    """A row per implementation: extra MB of one forward pass at every length."""
    found = report.memory(mask)
    lengths = sorted({n for by_length in found.values() for n in by_length})
    rows = tuple(
        (name, *(f"{mb[n]:.3g}" if n in mb else "" for n in lengths))
        for name, mb in found.items()
    )
    caption = f"Extra memory of one forward pass, {mask}, in MB; d_model 512, 8 heads."
    return Table(caption, ("implementation", *(f"{n:,} tokens" for n in lengths)), rows)


def missing(report: Report) -> Table:
    """A row per reason why an implementation has no time, with the number of cells."""
    seen: dict[tuple[str, str], int] = {}
    for race in report.races:
        for entry in race.entries:
            if entry.reason:
                key = entry.name, _cause(entry)
                seen[key] = seen.get(key, 0) + 1
    rows = tuple((name, reason, str(n)) for (name, reason), n in seen.items())
    return Table("Not timed, and why.", ("implementation", "reason", "cells"), rows)


def _cause(entry: Entry) -> str:
    """A reason without the numbers that differ from cell to cell."""
    return entry.reason.split(" off by ")[0] if "wrong" in entry.reason else entry.reason


def _goal(race: Race) -> str:
    goal = race.goal
    if goal is None:
        return "none"
    return "tie" if goal.limit is None else f"≤ {goal.limit:.2f} {goal.of.split()[0]}"


def _span(ratio: Quartiles | None) -> str:
    return "" if ratio is None else f"{ratio[1]:.2f} ({ratio[0]:.2f}–{ratio[2]:.2f})"


def _middle(ratio: Quartiles | None) -> str:
    return "" if ratio is None else f"{ratio[1]:.2f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _small(number: float | None) -> str:
    return "" if number is None else f"{number:.0e}"


def _style(word: str) -> str:
    return NUMBER if word[:1].isdigit() or word.startswith(("±", "≤", "−")) else CELL
