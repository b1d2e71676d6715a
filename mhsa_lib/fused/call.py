"""What is asked of the table of kernels: one pass from q, k, v and a mask to z.

What follows from the sizes and from what the mask says about itself is worked out here, once,
so that every row of the table reads it and none works it out again.
"""

from typing import Any, NamedTuple

from mhsa_lib import masks
from mhsa_lib.execution_mode import is_eager
from mhsa_lib.masks.structure import NO_LIMIT, Band
from mhsa_lib.shapes import Keys, Queries, Values


class Call(NamedTuple):
    """One pass, and what is known about it; made by ``Call.of``.

    A tuple with names, because making one takes under a microsecond; a frozen dataclass of as
    many fields takes three to five, where a pass over 16 tokens takes sixty (one core).

    Parameters
    ----------
    q, k, v : heads of queries, keys and values; k and v may have fewer heads
    mask : as in ``MultiHeadAttention``: None, a predicate or a boolean tensor
    scale : what scores are multiplied by
    dropout : the probability in force of dropping a weight: 0 in evaluation
    spend_q : q is not needed any more, so z may take its memory
    lengths : where sequences lie end to end, without a batch axis: the tokens of each
    n_query, n_key : tokens that ask, and tokens that are looked at
    shift : the query in row i stands at position i + ``shift`` of the keys
    band : all that the mask forbids, if that is a band and no more; None if it is not
    sees_all : every query looks at every key
    only_run : operations are neither recorded nor transformed; otherwise nothing is derived,
        and what was to be is 0, None or False
    """

    q: Queries
    k: Keys
    v: Values
    mask: Any
    scale: float
    dropout: float = 0.0
    spend_q: bool = False
    lengths: tuple[int, ...] | None = None
    n_query: int = 0
    n_key: int = 0
    shift: int = 0
    band: Band | None = None
    sees_all: bool = False
    only_run: bool = True

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
        spend_q: bool = False,
        lengths: tuple[int, ...] | None = None,
        shift: int | None = None,
    ) -> "Call":
        """The call with all that follows; queries are the last keys where no shift is given.

        Limits of a band that no query reaches are left out, and a single query is given only
        the keys that it sees, so that under a causal mask or a window it sees all of them.

        >>> import torch
        >>> q, k = torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 9, 4)
        >>> call = Call.of(q, k, k, masks.sliding_window(3), scale=0.5)
        >>> call.sees_all, tuple(call.k.shape)
        (True, (1, 2, 3, 4))
        """
        if not is_eager():  # what is recorded runs with other sizes later: derive nothing
            return cls(q, k, v, mask, scale, dropout, only_run=False)
        n_query, n_key = q.shape[-2], k.shape[-2]
        if shift is None:
            shift = n_key - n_query
        band, sees_all = _band(mask) if lengths is None else None, mask is None
        if band is not None and not sees_all:
            low, high = band.keys(shift, shift + n_query, n_key)
            if n_query == 1 and low < high:
                k, v, n_key = k[..., low:high, :], v[..., low:high, :], high - low
                band = NO_LIMIT
            else:
                band = band.within(n_query, n_key, shift)
            sees_all = band.ahead is None and band.behind is None
        known = n_query, n_key, shift, band, sees_all
        return cls(q, k, v, mask, scale, dropout, spend_q, lengths, *known)

    def part(
        self, q: Queries, k: Keys, v: Values, mask: Any, shift: int | None = None
    ) -> "Call":
        """The call about some of these heads under another mask; the rest is as here."""
        return Call.of(
            q,
            k,
            v,
            mask,
            scale=self.scale,
            dropout=self.dropout,
            spend_q=self.spend_q,
            shift=shift,
        )


def _band(mask: Any) -> Band | None:
    if mask is None:
        return NO_LIMIT
    if not isinstance(mask, masks.Predicate):
        return None
    structure = mask.structure
    return structure.band if structure.exact and structure.key_lengths is None else None
