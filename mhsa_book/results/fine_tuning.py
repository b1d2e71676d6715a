"""Heads removed as in ``results.pruning``, and other lengths of fine-tuning after it.

``python -m mhsa_book.experiments.pruning --longer`` makes the file.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mhsa_book.results.exactly import exactly
from mhsa_book.results.whole import write_whole

FILE = Path(__file__).parent / "data" / "pruning_longer.json"


@dataclass(frozen=True)
class Longer:
    """One way at one level, fine-tuned for some number of steps.

    Parameters
    ----------
    way : how the heads were chosen; by chance is one draw a model
    level : heads that are kept
    n_steps : of fine-tuning
    losses : of every seed, one for each task and for any
    """

    way: str
    level: int
    n_steps: int
    losses: dict[int, list[float]]

    def loss(self) -> dict[int, float]:
        """Of any task, by seed."""
        return {seed: losses[-1] for seed, losses in self.losses.items()}


def save(found: tuple[Longer, ...], file: Path = FILE) -> None:
    """Write them whole or not at all."""
    lines = [json.dumps(asdict(each), allow_nan=False) for each in found]
    write_whole(file, "[\n" + ",\n".join(lines) + "\n]\n")


def kept(file: Path = FILE) -> tuple[Longer, ...]:
    """What ``python -m mhsa_book.experiments.pruning --longer`` stored."""
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; run `python -m mhsa_book.experiments.pruning --longer`."
        )
    rows = [
        exactly(Longer, row, file.name) for row in json.loads(file.read_text(encoding="utf-8"))
    ]
    return tuple(
        Longer(**(row | {"losses": {int(s): x for s, x in row["losses"].items()}}))
        for row in rows
    )
