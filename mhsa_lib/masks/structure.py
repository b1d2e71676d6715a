"""What is known about a mask without asking it about every pair of tokens.

With it a kernel passes over what is forbidden, keys outside of a band around the query and
padding, and needs nothing of size (query × key) for that.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


class Rule:
    """A function of positions whose answers never change, as a frozen dataclass."""

    def to(self, device: torch.device) -> Any:
        """Return the same rule, with the tensors it reads on ``device``."""
        moved: Any = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)  # type: ignore[type-var]


@dataclass(frozen=True)
class Band(Rule):
    """Keys from ``behind`` tokens before the query to ``ahead`` after it; None: no limit."""

    ahead: int | None = None
    behind: int | None = None

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        """Whether each key is in the band of each query."""
        # Limits are added to the queries, (query, 1): key - query would be a whole matrix of
        # integers, eight times the memory of the answer.
        limits = []
        if self.ahead is not None:
            limits.append(query + self.ahead >= key)
        if self.behind is not None:
            limits.append(query - self.behind <= key)
        if not limits:
            shape = torch.broadcast_shapes(query.shape, key.shape)
            return torch.ones(shape, dtype=torch.bool, device=key.device)
        return limits[0] if len(limits) == 1 else limits[0] & limits[1]

    __call__ = allows

    def keys(self, first: int, end: int, n_key: int) -> tuple[int, int]:
        """Where the keys of queries at positions ``first`` to ``end - 1`` begin and end.

        >>> Band(ahead=0, behind=1).keys(2, 4, n_key=10)
        (1, 4)
        """
        # Clamped at both ends: a band may begin before the first key or after the last.
        low = 0 if self.behind is None else min(max(0, first - self.behind), n_key)
        high = n_key if self.ahead is None else min(max(0, end + self.ahead), n_key)
        return low, max(low, high)

    def within(self, n_query: int, n_key: int, shift: int) -> "Band":
        """Return the band without limits that no query and key of these are far enough for.

        >>> Band(ahead=0, behind=63).within(n_query=16, n_key=16, shift=0)
        Band(ahead=0, behind=None)
        """
        # Kernels without a limit are faster, so a limit that nothing reaches is dropped. The
        # first query is at shift, the last at n_query - 1 + shift.
        ahead = None if self.ahead is None or self.ahead >= n_key - 1 - shift else self.ahead
        far = self.behind is None or self.behind >= n_query - 1 + shift
        return Band(ahead, None if far else self.behind)


NO_LIMIT = Band()
Lengths = tuple[int, ...] | None


@dataclass(frozen=True)
class Structure:
    """A band, and the ends of the sequences; ``exact`` if nothing else is forbidden."""

    band: Band = NO_LIMIT
    key_lengths: Lengths = None
    query_lengths: Lengths = None
    exact: bool = False

    @property
    def is_causal(self) -> bool:
        """Whether later keys are forbidden and nothing else."""
        # Field by field, because torch.compile folds == of two structures that are one object
        # without a guard: the compiled program would take every later mask for the first.
        unpadded = self.key_lengths is None and self.query_lengths is None
        return self.exact and unpadded and self.band.ahead == 0 and self.band.behind is None

    def __and__(self, other: "Structure") -> "Structure":
        """What both allow."""
        one, two = self.band, other.band
        band = Band(_least(one.ahead, two.ahead), _least(one.behind, two.behind))
        keys, keys_known = _shorter(self.key_lengths, other.key_lengths)
        queries, queries_known = _shorter(self.query_lengths, other.query_lengths)
        exact = self.exact and other.exact and keys_known and queries_known
        return Structure(band, keys, queries, exact)


UNKNOWN = Structure()


def _least(a: int | None, b: int | None) -> int | None:
    return min(a, b) if a is not None and b is not None else (b if a is None else a)


def _shorter(a: Lengths, b: Lengths) -> tuple[Lengths, bool]:
    if a is None or b is None:
        return (b if a is None else a), True
    # A batch of one may broadcast against another, so this is no error, only unknown.
    return (tuple(map(min, a, b)), True) if len(a) == len(b) else (None, False)
