"""A stored cut once more, from the training of its model on: is it what is kept?"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mhsa_book.experiments import units
from mhsa_book.experiments.pruning import work
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.results.pruning import CHANCE, Pruning


def again(stored: Pruning, seed: int, level: int) -> str:
    """Train, rank and cut a stored model at a level, and say how far the losses are apart.

    Raises ``ValueError`` for a seed or a level that is not stored.
    """
    plan = Plan(**{name: _tupled(value) for name, value in stored.settings.items()})
    if seed not in plan.seeds or level not in plan.levels:
        raise ValueError(
            f"seed={seed} at {level} heads is not stored; there are seeds {[*plan.seeds]} and "
            f"levels {[*plan.levels]}."
        )
    chosen, model = stored.tuning["chosen"], stored.models[seed]
    weight = chosen["lambda"][plan.levels.index(level)]
    last = ("cut", seed, level, weight, chosen["rate"])
    rounds: tuple[list[units.Key], ...] = (
        [("model", seed)],
        [("gates", seed, weight), ("orders", seed)],
        [last],
    )
    with TemporaryDirectory() as folder:
        single = partial(work.worked, plan, Path(folder))
        for keys in rounds:
            found = units.done(single, keys, Path(folder))
    new = [*numbers(found[last]["arms"]), *numbers(found[last][CHANCE])]
    old = [*numbers(model.cuts[str(level)]), *numbers(model.drawn_cuts[str(level)])]
    apart = max(abs(one - other) for one, other in zip(new, old, strict=True))
    return f"seed {seed}, {level} heads: the losses differ by at most {apart:g}; 0 is the same."


def numbers(found: Any) -> Iterator[float]:
    """All numbers of dicts and lists inside each other, in order.

    >>> [*numbers({"a": [1.0, [2.0]], "b": 3.0})]
    [1.0, 2.0, 3.0]
    """
    if isinstance(found, dict):
        found = list(found.values())
    if not isinstance(found, list):
        yield found
        return
    for inner in found:
        yield from numbers(inner)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
