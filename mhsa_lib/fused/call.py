"""One pass from q, k, v and a mask to z, with what follows from its sizes worked out once."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from mhsa_lib import masks
from mhsa_lib.execution_mode import is_eager
from mhsa_lib.masks.structure import NO_LIMIT, Band
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


class Call(NamedTuple):
    """What a kernel is asked to compute; made by ``Call.of``.

    ``k`` and ``v`` may have fewer heads than ``q``; ``mask`` is as in ``MultiHeadAttention``.
    Row i of q is the query at position i + ``shift`` of the keys. ``band`` is everything that
    the mask forbids, None if that is no band. Unless ``is_eager``, operations are recorded or
    transformed and sizes may change, so that what would follow from them is 0, None or False.
    """

    # A NamedTuple because decoding makes one for every token and layer: it takes a
    # microsecond, a frozen dataclass of as many fields three to five.
    q: Queries
    k: Keys
    v: Values
    mask: Any
    scale: float
    dropout: float = 0.0
    n_query: int = 0
    n_key: int = 0
    shift: int = 0
    band: Band | None = None
    sees_all: bool = False
    is_eager: bool = True

    @classmethod
    def of(
        cls,
        q: Queries,
        k: Keys,
        v: Values,
        mask: Any,
        *,
        scale: float,
        dropout: float = 0.0,
        shift: int | None = None,
    ) -> "Call":
        """Return the call with everything that follows from its sizes and its mask.

        Without a ``shift`` the queries are the last positions of the keys. Limits of a band
        that no query reaches are dropped, and a single query keeps only the keys it attends
        to, so that under a causal mask or a window it attends to all of them.

        >>> import torch
        >>> q, k = torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 9, 4)
        >>> call = Call.of(q, k, k, masks.sliding_window(3), scale=0.5)
        >>> call.sees_all, tuple(call.k.shape)
        (True, (1, 2, 3, 4))
        """
        if not is_eager():
            return cls(q, k, v, mask, scale, dropout, is_eager=False)
        n_query, n_key = q.shape[-2], k.shape[-2]
        shift = n_key - n_query if shift is None else shift
        band = _band(mask)
        if band is not None and mask is not None:
            low, high = band.keys(shift, shift + n_query, n_key)
            if n_query == 1 and low < high:
                k, v, n_key = k[..., low:high, :], v[..., low:high, :], high - low
                band = NO_LIMIT
            else:
                band = band.within(n_query, n_key, shift)
        sees_all = band is not None and band.ahead is None and band.behind is None
        return cls(q, k, v, mask, scale, dropout, n_query, n_key, shift, band, sees_all)


ROWS = 256
"""Queries in a block. What is written for a block grows with the keys, and not their square."""


def blocks(call: Call) -> Iterator[tuple[Queries, Keys, Values, Callable[[], Any]]]:
    """Yield some queries, the keys and values that they reach, and who may attend to which.

    The last is a function: answers kept for a backward pass would be as many as all pairs.
    """
    q, k, v, n_key = call.q, call.k, call.v, call.n_key
    mask: Any = None if call.sees_all else call.mask
    is_rule = isinstance(mask, masks.Predicate)
    if not is_rule and mask is not None:
        mask = masks.resolve(mask, (*q.shape[:-1], n_key), q.device)
        mask = mask.expand(*mask.shape[:-2], call.n_query, -1)

    def allowed(start: int, end: int, low: int, high: int) -> Any:
        if not is_rule:
            return None if mask is None else mask[..., start:end, :]
        query = torch.arange(start + call.shift, end + call.shift, device=k.device)[:, None]
        key = torch.arange(low, high, device=k.device)
        # A predicate need not have an answer about no key at all.
        found = mask(query, key) if high > low else key.new_zeros(0, dtype=torch.bool)
        return found.expand(*found.shape[:-2], end - start, high - low)

    for start in range(0, call.n_query, ROWS):
        end, low, high = min(start + ROWS, call.n_query), 0, n_key
        if is_rule:
            low, high = mask.structure.band.keys(start + call.shift, end + call.shift, n_key)
        near = k[..., low:high, :], v[..., low:high, :]
        yield q[..., start:end, :], *near, partial(allowed, start, end, low, high)


class Kernel(NamedTuple):
    """A row of the table of kernels.

    ``unsupported_reason`` says in a few words why the kernel cannot serve a call, and returns
    None if it can; ``attend`` computes z.
    """

    name: str
    unsupported_reason: Callable[[Call], str | None]
    attend: Callable[[Call], HeadOutputs]


NOT_A_BAND = "the mask is more than a band"
DROPOUT = "weights are dropped"


def _band(mask: Any) -> Band | None:
    if mask is None:
        return NO_LIMIT
    if not isinstance(mask, masks.Predicate):
        return None
    structure = mask.structure
    return structure.band if structure.exact and structure.key_lengths is None else None


def band_only(mask: masks.Predicate) -> masks.Predicate:
    """Return the band of a mask as the mask of one sequence."""
    band = mask.structure.band
    return masks.Predicate(band.allows, "band", masks.Structure(band, exact=True))
