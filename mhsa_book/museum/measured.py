"""What was measured of every exhibit, as ``python -m mhsa_book.museum`` stored it."""

import base64
import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.parts import Setting
from mhsa_book.museum.study import SHOWN_HEADS, TEXT
from mhsa_book.museum.study import Learned as Learned

FILE = Path(__file__).parent / "measured.json"
RIGHT_ONE = "right"


@dataclass(frozen=True)
class Effect:
    """An exhibit's trainings beside those of the right attention in the same setting.

    Parameters
    ----------
    wrong, right : one training for each seed
    """

    wrong: tuple[Learned, ...]
    right: tuple[Learned, ...]

    def mean(self, share: str) -> float | None:
        """Mean over the seeds of "read", "written" or "borrowed"; None where it raised."""
        return _mean(self.wrong, share)

    def mean_right(self, share: str) -> float | None:
        """The same of the right attention."""
        return _mean(self.right, share)

    @property
    def error(self) -> str:
        """What it raised, "" if nothing."""
        return next((each.error for each in self.wrong if each.error), "")


class Right(NamedTuple):
    """The right attention in a setting: its trainings, and the map of the first one."""

    setting: Setting
    trainings: tuple[Learned, ...]
    map: str


def rights() -> tuple[Right, ...]:
    """The right attention, once for every setting that an exhibit has.

    >>> [right.setting.positions for right in rights()][:2]
    ['rotary', 'rotary']
    """
    return tuple(
        Right(Setting(**row["setting"]), tuple(map(_learned, row["seeds"])), row["map"])
        for row in _stored()["right"]
    )


def map_of(exhibit: Exhibit) -> str | None:
    """Its map with the right one's weights, as ``study.maps`` has it; None if it raises."""
    return _stored()["maps"][exhibit.name]


def weights(exhibit: Exhibit) -> tuple[Tensor, Tensor] | None:
    """The right map and the exhibit's, each (head, query, key); None if it raises an error.

    Both are of the right reader's numbers, on ``study.TEXT``.

    >>> from mhsa_book import museum
    >>> right, wrong = weights(museum.exhibit("one_token_of_the_future"))
    >>> right[0, 4, 5].item(), wrong[0, 4, 5].item() > 0
    (0.0, True)
    """
    found = map_of(exhibit)
    if found is None:
        return None
    right = next(each.map for each in rights() if each.setting == exhibit.setting)
    return _decoded(right), _decoded(found)


def effect(exhibit: Exhibit) -> Effect:
    """What was measured of an exhibit; ``KeyError`` if it was not measured yet.

    >>> from mhsa_book import museum
    >>> found = effect(museum.exhibit("one_token_of_the_future"))
    >>> found.mean("read") > 0.9 > 0.8 > found.mean("written")
    True
    """
    right = next(each for each in rights() if each.setting == exhibit.setting)
    wrong = _stored()["exhibits"][exhibit.name]
    return Effect(tuple(map(_learned, wrong)), right.trainings)


def _decoded(levels: str) -> Tensor:
    numbers = torch.frombuffer(bytearray(base64.b64decode(levels)), dtype=torch.uint8).double()
    shares = (numbers / 254).masked_fill(numbers == 255, torch.nan)
    return shares.view(SHOWN_HEADS, len(TEXT), len(TEXT))


@cache
def _stored() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def _learned(record: dict[str, Any]) -> Learned:
    values: dict[str, Any] = {k: math.nan if v is None else v for k, v in record.items()}
    values["losses"] = [math.nan if loss is None else loss for loss in record["losses"]]
    return Learned(**values)


def _mean(trainings: tuple[Learned, ...], share: str) -> float | None:
    values = [getattr(each, share) for each in trainings]
    return None if any(map(math.isnan, values)) else fmean(values)
