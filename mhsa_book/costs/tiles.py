"""What attention reads and writes, tile by tile: one head, its table never in large memory.

The loop of ``moved`` takes a tile of queries, goes through the tiles of keys that some of them
may look at, and writes their part of z once; the online softmax keeps what it needs between two
tiles. It counts what it touches, and nothing is computed.

Source: Dao et al., "FlashAttention", section 3, arXiv 2205.14135, whose Theorem 2 says that
what is moved grows as n² d² / M. There the outer loop goes through the keys; here, as in
FlashAttention-2 (arXiv 2307.08691), through the queries, and so z is written once.
"""

from dataclasses import dataclass

from mhsa_lib import checks
from mhsa_lib.masks.structure import NO_LIMIT, Band


@dataclass(frozen=True)
class Moved:
    """Bytes between the large memory and the fast one, and what became of each tile.

    ``q_z`` are those of the queries and of z, ``k_v`` of keys and values, ``tables`` of scores
    and weights. Of the ``computed`` tiles ``partial`` ones have to ask the mask.
    """

    q_z: int
    k_v: int
    tables: int = 0
    computed: int = 0
    partial: int = 0
    skipped: int = 0

    @property
    def bytes(self) -> int:
        """All of them together."""
        return self.q_z + self.k_v + self.tables


def fast_bytes(tile: int, d_head: int, *, itemsize: int = 4) -> int:
    """Bytes that a square tile keeps close by: q, k, v, z, scores, and two numbers per query.

    >>> fast_bytes(64, 64)
    82432
    """
    checks.positive(tile=tile, d_head=d_head, itemsize=itemsize)
    return itemsize * (4 * tile * d_head + tile * tile + 2 * tile)


def largest_tile(memory: int, n: int, d_head: int, *, itemsize: int = 4) -> int:
    """Side of the largest tile, a power of two up to ``n``, that ``memory`` bytes hold.

    Raises ``ValueError`` if a tile of one query and one key does not fit.

    >>> [largest_tile(kib * 1024, 2048, 64) for kib in (32, 64, 128)]
    [16, 32, 64]
    """
    least = fast_bytes(1, d_head, itemsize=itemsize)
    checks.positive(memory=memory, n=n)
    if memory < least:
        raise ValueError(
            f"memory={memory:,} bytes hold no tile: one query and one key of width {d_head} "
            f"need {least:,}; take memory={least}."
        )
    tile = 1
    while 2 * tile <= n and fast_bytes(2 * tile, d_head, itemsize=itemsize) <= memory:
        tile *= 2
    return tile


def moved(n: int, d_head: int, tile: int, band: Band = NO_LIMIT, *, itemsize: int = 4) -> Moved:
    """Go through the tiles of ``n`` queries and keys, and count what is read and written.

    Every tile of queries is read once, every tile of keys and values whenever a query of the
    tile may look at one of them, and z is written once. Raises ``ValueError`` where ``tile``
    does not divide ``n``.

    >>> moved(2048, 64, 32).bytes, five_stages(2048, 64).bytes
    (68157440, 69206016)
    >>> moved(2048, 64, 256, Band(ahead=0)).computed
    36
    """
    checks.positive(d_head=d_head, itemsize=itemsize)
    checks.divides(n=n, tile=tile)
    rows = tile * d_head * itemsize
    q_z = k_v = computed = partial = 0
    for query in range(0, n, tile):
        q_z += rows  # q is read
        for key in range(0, n, tile):
            nearest, farthest = key - query - tile + 1, key - query + tile - 1
            if not _some(nearest, farthest, band):
                continue
            k_v += 2 * rows
            computed += 1
            partial += not _all(nearest, farthest, band)
        q_z += rows  # z is written
    return Moved(q_z, k_v, 0, computed, partial, (n // tile) ** 2 - computed)


def five_stages(n: int, d_head: int, *, itemsize: int = 4) -> Moved:
    """The same for stages that write scores and weights, and read each of them once.

    >>> five_stages(2048, 64).tables == 4 * 4 * 2048**2
    True
    """
    checks.positive(n=n, d_head=d_head, itemsize=itemsize)
    rows = 2 * n * d_head * itemsize
    return Moved(rows, rows, 4 * n * n * itemsize)


def _some(nearest: int, farthest: int, band: Band) -> bool:
    """Whether a distance, key minus query, from the first to the last one is in the band."""
    ahead, behind = band.ahead, band.behind
    return (ahead is None or nearest <= ahead) and (behind is None or farthest >= -behind)


def _all(nearest: int, farthest: int, band: Band) -> bool:
    """Whether all of them are."""
    ahead, behind = band.ahead, band.behind
    return (ahead is None or farthest <= ahead) and (behind is None or nearest >= -behind)
