"""What is random about a case: every choice from one integer, and written down."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch

EDGES = (63, 64, 65, 127, 128, 129)
BLOCKS = (255, 256, 257)
PRIMES = (11, 13, 17, 31, 61)


class Draw:
    """Choices of one case. ``about`` says what was drawn, for the report."""

    def __init__(self, kind: str, number: int) -> None:
        self.random = Random(f"{kind}:{number}")
        torch.manual_seed(number)
        self.about: dict[str, Any] = {}

    def note(self, **facts: Any) -> None:
        self.about |= facts

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one(self, options: Sequence[Any], name: str = "") -> Any:
        chosen = self.random.choice(options)
        if name:
            self.about[name] = chosen
        return chosen

    def whole(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def some(self, options: Sequence[Any], share: float = 0.5) -> list[Any]:
        return [each for each in options if self.chance(share)]

    def length(self, *, most: int = 513, empty: bool = True) -> int:
        """Tokens: mostly few, sometimes none, at times just around where kernels change."""
        kind = self.random.random()
        if kind < 0.03 and empty:
            return 0
        if kind < 0.15:
            return 1
        if kind < 0.80:
            n = self.whole(2, 9)
        elif kind < 0.92:
            n = self.one(PRIMES)
        elif kind < 0.97:
            n = self.one(EDGES)
        elif kind < 0.995:
            n = self.one(BLOCKS)
        else:
            n = 513
        return min(n, most)

    def batch(self, *, empty: bool = True) -> tuple[int, ...]:
        """Leading axes: none to three, with an empty one now and then."""
        n_axes = self.random.choices((0, 1, 2, 3), (2, 9, 3, 1))[0]
        if empty and n_axes and self.chance(0.03):
            return (*[2] * (n_axes - 1), 0)
        return tuple(self.whole(1, 3) for _ in range(n_axes))
