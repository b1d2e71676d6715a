"""What is known about a mask without asking it about every pair of tokens.

A predicate that states its structure lets a kernel pass over what is forbidden: keys outside
of a band around the query, and padding. Nothing of size (query × key) is needed for that.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Band:
    """Keys from ``behind`` tokens before the query to ``ahead`` after it; None: no limit.

    >>> Band(ahead=0).keys(2, 4, n_key=10)
    (0, 4)
    >>> Band(ahead=0, behind=1).keys(2, 4, n_key=10)
    (1, 4)
    """

    ahead: int | None = None
    behind: int | None = None

    def keys(self, first: int, end: int, n_key: int) -> tuple[int, int]:
        """Where the keys of queries at positions ``first`` to ``end - 1`` begin and end."""
        low = 0 if self.behind is None else min(max(0, first - self.behind), n_key)
        high = n_key if self.ahead is None else min(max(0, end + self.ahead), n_key)
        return low, max(low, high)

    def queries(self, n_query: int, n_key: int, shift: int) -> tuple[int, int]:
        """Rows, at positions row + ``shift``, that see some key: where they begin and end.

        >>> Band(ahead=0).queries(n_query=5, n_key=2, shift=-3)
        (3, 5)
        """
        first = 0 if self.ahead is None else max(0, -shift - self.ahead)
        end = n_query if self.behind is None else min(n_query, n_key + self.behind - shift)
        return (first, end) if n_key and first < end else (0, 0)

    def within(self, n_query: int, n_key: int, shift: int) -> "Band":
        """The same band, without limits that no query and key of these are far enough for.

        >>> Band(ahead=0, behind=63).within(n_query=16, n_key=16, shift=0)
        Band(ahead=0, behind=None)
        """
        ahead, behind = self.ahead, self.behind
        if ahead is not None and ahead >= n_key - 1 - shift:
            ahead = None
        if behind is not None and behind >= n_query - 1 + shift:
            behind = None
        return Band(ahead, behind)

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        """Whether each key lies in the band of each query."""
        allowed = (query == query) & (key == key)
        if self.ahead is not None:
            allowed = allowed & (key - query <= self.ahead)
        if self.behind is not None:
            allowed = allowed & (query - key <= self.behind)
        return allowed


NO_LIMIT = Band()
Lengths = tuple[int, ...] | None


@dataclass(frozen=True)
class Structure:
    """A band, and where each sequence of the batch ends.

    ``exact`` if nothing else is forbidden.
    """

    band: Band = NO_LIMIT
    key_lengths: Lengths = None
    query_lengths: Lengths = None
    exact: bool = False

    def is_band(self, ahead: int | None, behind: int | None = None) -> bool:
        """Whether exactly this band is allowed and nothing else is forbidden.

        Asked field by field: comparing whole structures with ``==`` is folded by
        ``torch.compile`` where both are one object, without a guard, so that the compiled
        program takes every later mask for the first.

        >>> Structure(Band(ahead=0), exact=True).is_band(ahead=0)
        True
        """
        return (
            self.exact
            and self.key_lengths is None
            and self.query_lengths is None
            and self.band.ahead == ahead
            and self.band.behind == behind
        )

    def __and__(self, other: "Structure") -> "Structure":
        """What both allow."""
        band = Band(
            _least(self.band.ahead, other.band.ahead),
            _least(self.band.behind, other.band.behind),
        )
        key_lengths, keys_known = _shorter(self.key_lengths, other.key_lengths)
        query_lengths, queries_known = _shorter(self.query_lengths, other.query_lengths)
        exact = self.exact and other.exact and keys_known and queries_known
        return Structure(band, key_lengths, query_lengths, exact)


UNKNOWN = Structure()


def by_sequence(ends: Tensor) -> Lengths:
    """Lengths as plain numbers, where there is one for each sequence of a batch."""
    return tuple(ends.tolist()) if ends.ndim == 1 else None


def _least(a: int | None, b: int | None) -> int | None:
    given = [limit for limit in (a, b) if limit is not None]
    return min(given) if given else None


def _shorter(a: Lengths, b: Lengths) -> tuple[Lengths, bool]:
    if a is None or b is None:
        return (b if a is None else a), True
    if len(a) != len(b):
        return None, False
    return tuple(map(min, a, b)), True


def positions(n: int, start: int, device: torch.device) -> Tensor:
    """``n`` positions from ``start`` on.

    >>> positions(2, 3, torch.device("cpu"))
    tensor([3, 4])
    """
    return torch.arange(start, start + n, device=device)
