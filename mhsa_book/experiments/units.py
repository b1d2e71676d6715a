"""Units of work that do not need each other: side by side, and each kept when it is done.

Every unit has a process of its own with one thread. What it gave is written down at once, so
what was stopped goes on where it was.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import torch

from mhsa_book.results.decimals import Number
from mhsa_book.results.whole import write_whole

Key = tuple[str | Number, ...]
"""What tells a unit from all others of its folder."""

Work = Callable[[Any], Mapping[str, Any]]
"""From a key to what JSON can hold; a function of a module, so that a process can find it."""

Progress = Callable[..., Iterable[Any]]


def done(
    work: Work,
    keys: Sequence[Any],
    folder: Path,
    *,
    n_processes: int = 2,
    progress: Progress = lambda units, **_: units,
) -> dict[Any, dict[str, Any]]:
    """What ``work`` gives for every key, and the ``seconds`` of processor that it took.

    Only what is not yet in ``folder`` is worked out. ``progress`` wraps what is left, called
    with its number as ``total``, as tqdm is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [key for key in keys if not kept_as(folder, key).is_file()]
    with ProcessPoolExecutor(n_processes, get_context("spawn"), _alone) as pool:
        units = {pool.submit(_timed, work, key): key for key in left}
        for unit in progress(as_completed(units), total=len(left)):
            write_whole(kept_as(folder, units[unit]), json.dumps(unit.result()))
    return {key: json.loads(kept_as(folder, key).read_text(encoding="utf-8")) for key in keys}


def kept_as(folder: Path, key: Key) -> Path:
    """The file of a unit, named after its key.

    >>> kept_as(Path("kept"), ("4 heads, again", 0.01, 3)).name
    '4-heads--again 0.01 3.json'
    """
    return folder / f"{' '.join(map(_slug, key))}.json"


def _slug(part: str | Number) -> str:
    if isinstance(part, str):
        return "".join(letter if letter.isalnum() else "-" for letter in part)
    return str(part)


def _alone() -> None:
    torch.set_num_threads(1)


def _timed(work: Work, key: Any) -> dict[str, Any]:
    start = process_time()
    found = work(key)
    return {**found, "seconds": process_time() - start}
