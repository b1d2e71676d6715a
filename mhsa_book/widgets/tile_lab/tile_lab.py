"""The loop of a fused kernel, tile by tile, and the bytes that it moves."""

from typing import Any

from traitlets import Int, List, Unicode, validate

from mhsa_book import plots
from mhsa_book.costs import tiles
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, one_of
from mhsa_lib.masks.structure import NO_LIMIT, Band

TABLES = {
    "16 tokens, width 4": {"n": 16, "d_head": 4, "memory": 256},
    "2,048 tokens, width 64": {"n": 2048, "d_head": 64, "memory": 65_536},
    "4,096 tokens, width 64": {"n": 4096, "d_head": 64, "memory": 65_536},
    "2,048 tokens, width 128": {"n": 2048, "d_head": 128, "memory": 65_536},
}
"""Tables of one head, and the fast memory that each begins with."""

MASKS = ["none", "causal", "window"]


class TileLab(Figure):
    """Tiles of the (query × key) table of one head, one after the other; and what they move.

    Every trait can be set from Python and is set by the reader: ``table`` (one of ``TABLES``),
    ``mask`` ("none", "causal", or "window": the causal last quarter of the tokens), ``memory``
    (bytes of the fast memory) and ``step``, which of the computed tiles is there now, from 0
    on. A memory that holds no tile is explained in the figure and by ``refusal``, with the
    repair. Raises ``ValueError`` for a word that is not a choice, ``TraitError`` for a number
    outside its dial.

    >>> lab = TileLab(table="2,048 tokens, width 64", memory=32 * 1024)
    >>> lab.tile, lab.loop.bytes > lab.stages.bytes
    (16, True)
    """

    table = Unicode("16 tokens, width 4").tag(sync=True)
    mask = Unicode("none").tag(sync=True)
    memory = Int(256, min=1, max=262_144).tag(sync=True)
    step = Int(1, min=0).tag(sync=True)
    tables: "List[Any]" = List().tag(sync=True)

    def __init__(self, **choices: Any) -> None:
        tables = [{"name": name, **sizes} for name, sizes in TABLES.items()]
        super().__init__(tables=tables, **choices)

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return super().rules() | {"table": one_of([*TABLES]), "mask": one_of(MASKS)}

    @validate("table", "mask")
    def _is_a_choice(self, proposal: Any) -> Any:
        name, value = proposal.trait.name, proposal.value
        options = [*TABLES] if name == "table" else MASKS
        if value not in options:
            raise ValueError(f"{name}={value!r} is unknown; choose one of {options}.")
        return value

    @property
    def refusal(self) -> str | None:
        """Why no tile fits, with a repair; None if one does."""
        try:
            tiles.largest_tile(self.memory, self.n, self.d_head)
        except ValueError as error:
            return str(error)
        return None

    @property
    def n(self) -> int:
        """Tokens of the table, as queries and as keys."""
        return TABLES[self.table]["n"]

    @property
    def d_head(self) -> int:
        """Width of the head."""
        return TABLES[self.table]["d_head"]

    @property
    def band(self) -> Band:
        """Who may look at whom."""
        limits = {"none": NO_LIMIT, "causal": Band(0), "window": Band(0, self.n // 4 - 1)}
        return limits[self.mask]

    @property
    def tile(self) -> int:
        """Side of the largest tile that fits. Raises ``ValueError`` if none does."""
        return tiles.largest_tile(self.memory, self.n, self.d_head)

    @property
    def loop(self) -> tiles.Moved:
        """What the loop moves from its first tile to its last."""
        return tiles.moved(self.n, self.d_head, self.tile, self.band)

    @property
    def stages(self) -> tiles.Moved:
        """What the five stages move."""
        return tiles.five_stages(self.n, self.d_head)

    @property
    def alt(self) -> str:
        return (
            f"Two bars of bytes moved for {self.table}: the five stages {self.stages.bytes:,}, "
            f"a loop through tiles of {self.tile} queries and keys {self.loop.bytes:,}."
        )

    def still(self) -> None:
        both = {"five stages": self.stages.bytes}
        both[f"loop, tiles of {self.tile}"] = self.loop.bytes
        plots.bars(both, "bytes read and written")
