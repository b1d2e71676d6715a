"""A record is read back only if it has the fields of its kind, no more and no fewer."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def exactly(kind: Any, found: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What was found, if its names are the fields of a dataclass; else ``ValueError``.

    >>> from mhsa_book.results.paired import Measure
    >>> exactly(Measure, {"name": "loss", "unit": ""}, "demo.json, measure")
    Traceback (most recent call last):
    ...
    ValueError: demo.json, measure: unknown are [], missing ['better']; it holds exactly ...
    """
    wanted = {field.name for field in fields(kind)}
    if found.keys() != wanted:
        raise ValueError(
            f"{where}: unknown are {sorted(found.keys() - wanted)}, missing "
            f"{sorted(wanted - found.keys())}; it holds exactly {sorted(wanted)}."
        )
    return dict(found)
