"""A mask as a drawing in text: one row per query, one sign per key."""

import math

from mhsa_lib.masks.predicates import Predicate


class Picture(list[str]):
    """Rows of a drawn mask; printing shows them under each other."""

    def __repr__(self) -> str:
        return "\n".join(self)

    __str__ = __repr__


def picture(predicate: Predicate, n_query: int, n_key: int | None = None) -> Picture:
    """Draw a mask: one row per query, ``■`` may look, ``·`` may not; batches side by side.

    >>> from mhsa_lib.masks.predicates import causal
    >>> picture(causal, 2, 4)
    ■■■·
    ■■■■
    """
    dense = predicate.dense(n_query, n_query if n_key is None else n_key)
    panels = dense.reshape(math.prod(dense.shape[:-2]), *dense.shape[-2:]).tolist()
    return Picture(
        "  ".join("".join("■" if allowed else "·" for allowed in row) for row in rows)
        for rows in zip(*panels, strict=True)
    )
