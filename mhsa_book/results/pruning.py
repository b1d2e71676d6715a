"""What was measured when heads of translators were removed, one model for each seed.

``python -m mhsa_book.experiments.pruning`` makes the file; ``plots.kept_heads`` draws it.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from mhsa_book.results.exactly import exactly
from mhsa_book.results.hypergeometric import at_least
from mhsa_book.results.paired import Measure, Paired, paired
from mhsa_book.results.run_files import LIMIT
from mhsa_book.results.whole import write_whole
from mhsa_lib.variants.gated import HardConcrete

FILE = Path(__file__).parent / "data" / "pruning.json"

L0, L0_HEADS = "L0", "L0, heads alone"
IMPORTANCE, GREEDY, CONFIDENCE, CHANCE = "importance", "greedy", "confidence", "random"
SCRATCH = "from scratch"
CUTS = (L0, L0_HEADS, IMPORTANCE, GREEDY, CONFIDENCE, CHANCE)
"""The ways to choose heads. L0 goes on with the weights that were trained with its gates; all
others, its heads alone too, with those of the model before."""

CLOSED = "closed"
"""In the times: all heads are there, with gates of which many are 0."""

WHEN = ("before", "after")
"""Fine-tuning."""

LOSS = Measure("loss", "nats a word", better="lower")


@dataclass(frozen=True)
class Model:
    """One translator: heads by number, losses as one for each task and for any.

    Parameters
    ----------
    whole : losses with all heads
    roles : the head of each role
    orders : for importance, greedy and confidence all heads, the last to go first
    drawn : orders that were drawn
    log_alpha : for each level that of every head, trained with the level's λ
    gated : for each level the losses with gates, in evaluation mode
    cuts : for each level and way the losses before fine-tuning, and after
    drawn_cuts : for each level those of every order that was drawn
    scratch : for each level the losses of L0's shape, trained from scratch
    times : of a forward pass, as a share of the whole's, for each level and with closed gates
    """

    whole: list[float]
    roles: dict[str, int]
    orders: dict[str, list[int]]
    drawn: list[list[int]]
    log_alpha: dict[str, list[float]]
    gated: dict[str, list[float]]
    cuts: dict[str, dict[str, list[list[float]]]]
    drawn_cuts: dict[str, list[list[list[float]]]]
    scratch: dict[str, list[float]]
    times: dict[str, float]

    def ranked(self, way: str, level: int) -> list[list[int]]:
        """All heads in the order of a way: one order, or all that were drawn."""
        if way == CHANCE:
            return self.drawn
        if way in self.orders:
            return [self.orders[way]]
        log_alpha = self.log_alpha[str(level)]
        return [sorted(range(len(log_alpha)), key=lambda head: -log_alpha[head])]

    def losses(self, way: str, level: int, when: str) -> list[list[float]]:
        """Losses of a way at a level: one list, or one for every order that was drawn."""
        if way == SCRATCH:
            return [self.scratch[str(level)]]
        at = WHEN.index(when)
        if way == CHANCE:
            return [each[at] for each in self.drawn_cuts[str(level)]]
        return [self.cuts[str(level)][way][at]]


@dataclass(frozen=True)
class Pruning:
    """The stored numbers: what was predicted and planned, where it ran, and every seed.

    Parameters
    ----------
    predictions : what was expected, in sentences
    predictions_commit : the commit that holds them
    date : of the run, as in 2026-01-31
    settings : of the plan, by name
    tuning : for each λ and rate what it gave on the seeds to tune on, and what was chosen
    machine : where it ran, and seconds of processor by part
    heads : names of the heads, in the order of their numbers
    tasks : names of the losses, in their order
    models : by seed
    """

    predictions: tuple[str, ...]
    predictions_commit: str
    date: str
    settings: dict[str, Any]
    tuning: dict[str, Any]
    machine: dict[str, Any]
    heads: tuple[str, ...]
    tasks: tuple[str, ...]
    models: dict[int, Model]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those that are reported."""
        return tuple(self.models)

    @property
    def levels(self) -> tuple[int, ...]:
        """Heads that were kept, the most first."""
        return tuple(self.settings["levels"])

    def whole(self, task: str = "any") -> dict[int, float]:
        """The loss with all heads, by seed."""
        at = self._task(task)
        return {seed: model.whole[at] for seed, model in self.models.items()}

    def loss(
        self, way: str, level: int, when: str = "after", task: str = "any"
    ) -> dict[int, float]:
        """The loss of a way at a level, by seed; of ``random`` the mean of its draws."""
        at, found = self._task(task), {}
        for seed, model in self.models.items():
            draws = [each[at] for each in model.losses(way, level, when)]
            found[seed] = sum(draws) / len(draws)
        return found

    def compared(
        self, first: str, second: str, level: int, when: str = "after", task: str = "any"
    ) -> Paired:
        """Two ways at a level, seed by seed."""
        ways = {
            f"{way} at {level}": self.loss(way, level, when, task) for way in (first, second)
        }
        return paired(ways, LOSS)

    def interval(
        self, way: str, level: int, when: str = "after", task: str = "any"
    ) -> tuple[float, float, float]:
        """The mean over seeds, and the ends of its 95 % interval by Student's t."""
        numbers = self.loss(way, level, when, task)
        found = paired({way: numbers, "nothing": dict.fromkeys(numbers, 0.0)}, LOSS)
        return (found.difference, *found.interval())

    def kept(self, way: str, level: int) -> dict[int, list[list[int]]]:
        """The heads that a way keeps, by seed: one list, or one for every draw."""
        return {
            seed: [order[:level] for order in model.ranked(way, level)]
            for seed, model in self.models.items()
        }

    def gates(self, level: int) -> dict[int, list[float]]:
        """The gates in evaluation mode, by seed, trained with the λ of a level."""
        found = {}
        for seed, model in self.models.items():
            gate = HardConcrete(len(self.heads))
            gate.log_alpha.data = torch.tensor(model.log_alpha[str(level)])
            found[seed] = gate.values().tolist()
        return found

    def survival(self, way: str, level: int, *roles: str) -> tuple[int, float, float]:
        """Heads with a role that a way keeps: found in all, expected by chance, and p.

        A head with two roles counts once. P is that of so many or more if in each model heads
        were drawn without a look at roles; for ``random`` each of its draws is one. All roles
        count where none is named.
        """
        marked, found = [], 0
        for seed, draws in self.kept(way, level).items():
            held = {
                head
                for role, head in self.models[seed].roles.items()
                if role in (roles or self.roles)
            }
            for kept in draws:
                marked.append(len(held))
                found += len(held & set(kept))
        n = len(self.heads)
        return found, sum(marked) * level / n, at_least(found, n, marked, level)

    @property
    def roles(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(next(iter(self.models.values())).roles)

    def time(self, name: str | int) -> dict[int, float]:
        """Of a forward pass with so many heads left, or ``CLOSED``; a share of the whole's."""
        return {seed: model.times[str(name)] for seed, model in self.models.items()}

    def _task(self, task: str) -> int:
        if task not in self.tasks:
            raise ValueError(f"{task!r} was not measured; there are: {', '.join(self.tasks)}.")
        return self.tasks.index(task)


def save(found: Pruning, file: Path = FILE) -> None:
    """Write it whole or not at all; ``ValueError`` for more than 300 kB."""
    text = json.dumps(asdict(found), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    if (size := len(text.encode())) > LIMIT:
        raise ValueError(f"{file.name} would have {size:,} bytes, and {LIMIT:,} is the limit.")
    write_whole(file, text.replace(',"models":', ',\n"models":') + "\n")


def kept(file: Path = FILE) -> Pruning:
    """The stored numbers.

    Raises ``FileNotFoundError``, which says how to make them, and ``ValueError`` for fields
    that are unknown or missing.
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; run `python -m mhsa_book.experiments.pruning`."
        )
    found = exactly(Pruning, json.loads(file.read_text(encoding="utf-8")), file.name)
    models = {
        int(seed): Model(**exactly(Model, model, f"{file.name}, seed {seed}"))
        for seed, model in found["models"].items()
    }
    lists = {name: tuple(found[name]) for name in ("predictions", "heads", "tasks")}
    return Pruning(**(found | lists | {"models": models}))
