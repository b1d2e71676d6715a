"""What was measured of the heads of eight translators, one for each seed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any

FILE = Path(__file__).parent / "data" / "translators.json"


class Spread(tuple[float, ...]):
    """One number for each seed; it shows mean ± standard deviation.

    >>> Spread([1.0, 2.0, 3.0])
    2.00 ± 1.00
    """

    def __repr__(self) -> str:
        return f"{mean(self):.2f} ± {stdev(self):.2f}"


@dataclass(frozen=True)
class Translators:
    """The stored numbers: how they were made, and those of every seed.

    >>> found = kept()
    >>> len(found.seeds), found.heads[-1]
    (8, 'cross L1H3')
    >>> len(found.off("cross-attention", "order"))
    8
    """

    settings: dict[str, Any]
    machine: dict[str, Any]
    models: dict[str, dict[str, Any]]
    never: dict[str, dict[str, dict[str, float]]]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in the order of all numbers."""
        return tuple(map(int, self.models))

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """Names of the heads, the same in every model: "encoder L0H0" and so on."""
        return tuple(name for name in self._first["off"]["zero"] if name not in self.kinds)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The three uses of attention."""
        return tuple(name for name in self._first["off"]["zero"] if name.endswith("attention"))

    def of(self, kind: str) -> tuple[str, ...]:
        """The heads of a kind; ``ValueError`` names the kinds there are."""
        if kind not in self.kinds:
            raise ValueError(f"{kind!r} is no kind of attention; choose from {self.kinds}.")
        return tuple(
            name for name in self.heads if name.split()[0] == kind.split("-")[0].split()[0]
        )

    def off(self, name: str, task: str = "any", way: str = "mean") -> Spread:
        """Nats a word of a task that it costs when a head, or a kind, is switched off.

        ``way`` is "zero", "mean" or "resample". Raises ``KeyError`` for another name.
        """
        return Spread(model["off"][way][name][task][0] for model in self.models.values())

    def interval(self, seed: int, name: str, task: str = "any", way: str = "mean") -> Any:
        """For one seed: the cost and the ends of its interval, drawn over sentences."""
        return tuple(self.models[str(seed)]["off"][way][name][task])

    def both(self, one: str, other: str, task: str = "any") -> Spread:
        """What two heads cost together, each replaced by its mean."""
        return self._pair(one, other, task)

    def never_had(self, kind: str, task: str = "any") -> Spread:
        """Nats a word of a task, for models that were trained without that kind at all."""
        return Spread(found[task] for found in self.never[kind].values())

    def missed(self, measure: str) -> Spread:
        """Share of words whose largest number is at another source word than theirs."""
        return Spread(model["missed"][measure] for model in self.models.values())

    def missed_untrained(self, measure: str) -> Spread:
        """The same before training, for "weights" and "norms"."""
        return Spread(model["missed untrained"][measure] for model in self.models.values())

    @property
    def _first(self) -> dict[str, Any]:
        return next(iter(self.models.values()))

    def _pair(self, one: str, other: str, task: str) -> Spread:
        first, second = sorted((one, other), key=self.heads.index)
        place = [*self._first["whole"]].index(task)
        name = f"{first} and {second}"
        return Spread(model["pairs"][name][place] for model in self.models.values())


def total(parts: Sequence[Spread]) -> Spread:
    """The sum of several, seed by seed.

    >>> total([Spread([1.0, 2.0]), Spread([10.0, 20.0])])[1]
    22.0
    """
    return Spread(map(sum, zip(*parts, strict=True)))


def kept(path: Path = FILE) -> Translators:
    """The stored numbers; ``FileNotFoundError`` says how to make them anew."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing; run `python -m tools.build.measure_translators`."
        )
    return Translators(**json.loads(path.read_text(encoding="utf-8")))
