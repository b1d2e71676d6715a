"""Where a band of scores is cut into tiles: rows of queries, and the keys they attend to.

Only geometry: no token is touched. What lies outside of the band gets no tile; where its edge
runs through a tile, the tile says what to add to the scores.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mhsa_lib import masks
from mhsa_lib.masks.structure import Band

TILE_BYTES = 4 * 2**20
"""Bytes of scores that exist at a time: few enough to stay in a processor's cache."""

# oneDNN prepares a kernel for every new size, which takes milliseconds; with sizes in steps,
# few of them are met for the first time.
STEP = 64
"""Rows and keys of a tile are multiples of this."""

MOST_ROWS, MOST_ROWS_OF_A_BAND = 512, 256
"""Queries of a tile at most. A finer cut of a band leaves more of it out."""


class Tile(NamedTuple):
    """Rows of queries, the keys they attend to, and in which columns 0 or -inf is added."""

    rows: slice
    keys: slice
    addend: tuple[slice, Tensor] | None


def round_up(size: int) -> int:
    """Return the next multiple of ``STEP``.

    >>> round_up(1), round_up(64)
    (64, 64)
    """
    return -(-size // STEP) * STEP


def cut(n_query: int, n_key: int, band: Band, shift: int, dtype: torch.dtype) -> list[Tile]:
    """Cut the queries that attend to something into tiles of at most ``TILE_BYTES``.

    The query in row i stands at position i + ``shift``.

    >>> for tile in cut(1024, 1024, Band(ahead=0), 0, torch.float32):
    ...     print(tile.rows, tile.keys, tuple(tile.addend[1].shape))
    slice(0, 256, None) slice(0, 256, None) (256, 255)
    slice(256, 512, None) slice(0, 512, None) (256, 255)
    slice(512, 768, None) slice(0, 768, None) (256, 255)
    slice(768, 1024, None) slice(0, 1024, None) (256, 255)
    """
    first, last = band.queries(n_query, n_key, shift)
    most = MOST_ROWS if band == Band() else MOST_ROWS_OF_A_BAND
    at_once = max(STEP, min(most, TILE_BYTES // (n_key * dtype.itemsize) // STEP * STEP))
    step = max(STEP, round_up(n_key // 16))
    tiles, known = [], dict[tuple[int, ...], Tensor]()
    for start in range(first, last, at_once):
        rows = slice(start, min(start + at_once, last))
        low, high = band.keys(rows.start + shift, rows.stop + shift, n_key)
        keys = slice(low // step * step, min(-(-high // step) * step, round_up(n_key)))
        low, high = _undecided(rows, keys, band, shift, n_key)
        if low >= high:
            tiles.append(Tile(rows, keys, None))
            continue
        # A band looks the same from the middle of every tile, so it is computed once.
        place = rows.start + shift
        view = rows.stop - rows.start, low - place, high - place, min(high, n_key) - place
        if view not in known:
            known[view] = _below(*view, band, dtype)
        columns = slice(low - keys.start, high - keys.start)
        tiles.append(Tile(rows, keys, (columns, known[view])))
    return tiles


def _undecided(rows: slice, keys: slice, band: Band, shift: int, n_key: int) -> tuple[int, int]:
    """Return where the keys begin and end that some rows may attend to and others not."""
    first, last = rows.start + shift, rows.stop - 1 + shift
    right = min(n_key, keys.stop if band.ahead is None else first + band.ahead + 1)
    left = keys.start if band.behind is None else last - band.behind
    low = keys.start if left > keys.start else max(keys.start, right)
    high = keys.stop if right < keys.stop else min(keys.stop, left)
    return low, high


def _below(
    n_rows: int, low: int, high: int, end: int, band: Band, dtype: torch.dtype
) -> Tensor:
    """Return what is added to the scores of keys ``low`` to ``high``, counted from row 0."""
    row = torch.arange(round_up(n_rows), device="cpu")[:, None]
    key = torch.arange(low, high, device="cpu")
    # Rows that only fill up the tile are thrown away, so they may attend to anything.
    allowed = (row >= n_rows) | (band.allows(row, key) & (key < end))
    return masks.to_additive(allowed, dtype)
