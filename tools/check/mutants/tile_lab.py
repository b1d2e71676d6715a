"""Mistakes in `mhsa_book/widgets/tile_lab`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "tiles in the page: z is written for every tile of keys",
        "widgets/tile_lab/tiles.js",
        "(2 * row + (last ? 2 : 1))",
        "(2 * row + 2)",
        "widgets/tile_lab",
    ),
    Mutant(
        "tiles in the page: the diagonal asks no mask",
        "widgets/tile_lab/tiles.js",
        "all: farthest <= ahead && nearest",
        "all: nearest <= ahead && nearest",
        "widgets/tile_lab",
    ),
    Mutant(
        "online softmax in the page: the old total is not corrected",
        "widgets/tile_lab/online.js",
        "keep * before.total + added.total",
        "before.total + added.total",
        "widgets/tile_lab",
    ),
]
