"""How far a reader gets when it writes by itself: the share that is right, place by place."""

import torch

from mhsa_book.museum.study import N_TEXTS
from mhsa_book.museum.task import PERIODS, SEQ, Reader, texts


@torch.no_grad()
def written_by_place(reader: Reader, period: int) -> list[float]:
    """Share of texts whose first, second, … letter it writes right, with a cache.

    A text is given up to the end of its first round, as in ``study.written``, and the reader
    goes on from there. Beams do not change places here, and no text has been read before.
    Raises ``ValueError`` for a period that the task does not have.

    >>> from mhsa_book.museum.study import train
    >>> from mhsa_book.museum.parts import RIGHT, Setting
    >>> reader = train(RIGHT, Setting(), seed=0, n_steps=1)
    >>> [len(written_by_place(reader, period)) for period in (3, 5)]
    [13, 11]
    """
    if period not in PERIODS:
        raise ValueError(f"period={period} is none of the task's; take one of {PERIODS}.")
    kind = 1 + PERIODS.index(period)
    generator = torch.Generator().manual_seed(1000 + kind)
    ids = texts(generator, 4 * N_TEXTS, SEQ + 1).ids  # as long as a text can be
    ids = ids[ids[:, 0] == kind][: N_TEXTS // 2]
    n_given = period + 1
    scores, cache = reader(ids[:, :n_given])
    shares = []
    for place in range(n_given, SEQ + 1):
        said = scores[:, -1].argmax(dim=-1)
        shares.append((said == ids[:, place]).double().mean().item())
        scores, cache = reader(said[:, None], cache)
    return shares
