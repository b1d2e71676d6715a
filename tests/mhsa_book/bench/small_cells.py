"""Small cells of every mask, mode and precision."""

from mhsa_book.results.cells import Cell

CELLS = [
    Cell(2, 8, 16, 2),
    Cell(2, 8, 16, 2, "causal"),
    Cell(4, 8, 16, 2, "ragged"),
    Cell(1, 600, 16, 2, "window"),
    Cell(2, 8, 16, 2, "full", "training"),
    Cell(2, 8, 16, 2, "causal", "training"),
    Cell(4, 8, 16, 2, "ragged", "training"),
    Cell(2, 8, 16, 2, "causal", "forward", "bfloat16"),
    Cell(4, 8, 16, 2, "ragged", "training", "bfloat16"),
    Cell(2, 8, 16, 4, mode="decode"),
    Cell(2, 8, 16, 4, mode="decode", n_kv_heads=2),
    Cell(1, 8, 16, 4, mode="decode", n_kv_heads=2, n_layers=3),
]
