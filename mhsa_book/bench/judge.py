"""Right first, fast second: build everybody, compare with float64, and time who is right."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from mhsa_book.bench import clock as clocks
from mhsa_book.bench import decoding, heap, problem, profiles, reasons, rivals
from mhsa_book.bench.clock import Clock, Entrant, quartiles
from mhsa_book.bench.machine import least_seconds
from mhsa_book.bench.problem import Loaded, Problem
from mhsa_book.bench.registry import DECODERS, HOPELESS, LARGE, PASSES, RAW_IN_BFLOAT16
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import AGAIN, OURS, STAGES, UNIT, Entry, Race


@dataclass(frozen=True)
class Effort:
    """How long to look: rounds at least, and seconds of a cell."""

    rounds: int = 9
    seconds: float = 5.0


def run(
    cell: Cell,
    rates: Mapping[str, float],
    effort: Effort,
    clock: Clock | None = None,
    extra: Mapping[str, Callable[..., Any]] | None = None,
) -> Race:
    """Build, judge and time everybody in one cell; ``extra`` adds implementations by name.

    ``extra`` maps a name to a function of the ``Problem`` that gives a ``Loaded``; in a decode
    cell to a function of the ``Past`` that gives a ``Decoder``.
    """
    judge = _decoded if cell.mode == "decode" else _passed
    entrants, entries = judge(cell, dict(extra or {}))
    if UNIT not in entrants:
        raise RuntimeError(f"raw itself is wrong in {cell!r}: {entries[UNIT].reason}.")
    clock = Clock() if clock is None else clock
    times = clocks.race(
        entrants,
        rounds=effort.rounds,
        seconds=effort.seconds,
        clock=clock,
        never_rest=(UNIT, AGAIN, OURS),
    )
    for name in entrants:
        ratios = times.ratios(name, UNIT)
        old = entries[name]
        entries[name] = Entry(
            name, quartiles(ratios), old.error, old.gradient_error, len(ratios)
        )
    best = _best(cell, entries)
    raw_seconds = times.median(UNIT)
    race = Race(
        cell,
        tuple(entries.values()),
        raw_ms=1000 * raw_seconds,
        rounds=len(times.rounds),
        thrown=times.thrown,
        contaminated=times.contaminated,
        band=clocks.band(times.ratios(AGAIN, UNIT)),
        bound=least_seconds(cell, dict(rates)) / raw_seconds if rates else None,
        best_peer=best,
        against_best=quartiles(times.ratios(OURS, best)) if OURS in entrants else None,
    )
    if race.lost and torch.get_default_device().type == "cpu":
        watched = {name: profiles.milliseconds(entrants[name]) for name in (OURS, best)}
        race = replace(race, profile=watched)
    return race


def _best(cell: Cell, entries: dict[str, Entry]) -> str:
    """The fastest correct peer; raw float32 is no peer of those with bfloat16 inside."""
    apart = {AGAIN, OURS, STAGES} | ({UNIT} if cell.precision != "float32" else set())
    peers = {
        n: e.ratio[1] for n, e in entries.items() if n not in apart and e.ratio is not None
    }
    return min(peers, key=lambda name: peers[name]) if peers else UNIT


def _passed(cell: Cell, extra: dict[str, Any]) -> tuple[dict[str, Entrant], dict[str, Entry]]:
    given = Problem(cell)
    builders = PASSES | extra
    if cell.precision != "float32":
        builders[RAW_IN_BFLOAT16] = rivals.raw
    entrants, entries, first = {}, {}, dict[str, float]()
    for name, build in builders.items():
        if name in LARGE and cell.mode == "training" and cell.n_tokens >= 2048:
            reason = "not run here: writes the weights, as explicit softmax does"
            entries[name] = Entry(name, reason=reason)
            continue
        precision = "float32" if name in (UNIT, AGAIN) else cell.precision
        heap.give_back()
        try:
            step, entries[name], first[name] = _judged(name, build(given), given, precision)
        except Exception as error:  # other people's code may fail in any way
            entries[name] = Entry(name, reason=f"not run here: {reasons.why(error)}")
            continue
        if not entries[name].reason and first[name] > max(1.0, HOPELESS * first.get(UNIT, 0.0)):
            reason = f"not timed: a call takes over {HOPELESS} times as long as raw"
            entries[name] = replace(entries[name], reason=reason)
        if not entries[name].reason:
            entrants[name] = Entrant(step)
    return entrants, entries


def _judged(
    name: str, loaded: Loaded, given: Problem, precision: str
) -> tuple[Callable[[], Any], Entry, float]:
    """A rival's call, its errors and whether they are too large, and its first seconds."""
    training = given.cell.mode == "training"
    loaded.module.train(training or loaded.stays_training)
    call = loaded.call if precision == "float32" else _autocast(loaded.call)
    parameters = list(loaded.module.parameters())
    x = given.x.clone().requires_grad_(training)

    def step() -> Tensor:
        if not training:
            with torch.inference_mode():
                return call(x)
        for tensor in (x, *parameters):
            tensor.grad = None
        y = call(x)
        y.backward(given.g)
        return y

    start = perf_counter()
    y = step()
    seconds = perf_counter() - start
    errors = [given.error(y)]
    if training:
        assert x.grad is not None
        errors.append(given.gradient_error(x.grad, loaded.maps))
    return step, _entry(name, precision, *errors), seconds


def _entry(name: str, precision: str, error: float, gradient: float | None = None) -> Entry:
    allowed = (problem.OURS if name == OURS else problem.OUTPUT)[precision]
    slope = problem.GRADIENT[precision]
    reason = ""
    if error > allowed:
        reason = f"wrong: output off by {error:.2g}, allowed {allowed:g}"
    elif gradient is not None and gradient > slope:
        reason = f"wrong: gradient off by {gradient:.2g}, allowed {slope:g}"
    return Entry(name, None, error, gradient, reason=reason)


def _autocast(call: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def inside(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, torch.bfloat16):
            return call(x).float()

    return inside


def _decoded(cell: Cell, extra: dict[str, Any]) -> tuple[dict[str, Entrant], dict[str, Entry]]:
    given = Problem(cell)
    past, new = decoding.Past(given), given.x[:, -1:].clone() * 0.5
    exact, right = deepcopy(given.attention).double(), []
    with torch.inference_mode():
        text = given.x.double()
        for _ in range(2):
            text = torch.cat([text, new.double()], dim=1)
            right.append(exact(new.double(), text))
    entrants, entries = {}, {}
    for name, build in (DECODERS | extra).items():
        try:
            decoder, *others = [build(past) for _ in range(cell.n_layers)]
            with torch.inference_mode():
                decoder.reset()
                found = [decoder.step(new).double() for _ in right]
        except Exception as error:  # as above
            entries[name] = Entry(name, reason=f"not run here: {reasons.why(error)}")
            continue
        gaps = [(y - wanted).abs() for y, wanted in zip(found, right, strict=True)]
        entries[name] = _entry(name, cell.precision, max(gap.max().item() for gap in gaps))
        if not entries[name].reason:
            entrants[name] = decoding.entrant([decoder, *others], new)
    return entrants, entries
