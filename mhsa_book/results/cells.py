"""What is timed: sizes, masks, modes and precisions, each a cell with the goal set for it."""

from dataclasses import dataclass

from mhsa_lib import checks, masks

MASKS = ("full", "causal", "ragged", "window")
MODES = ("forward", "training", "decode")
PRECISIONS = ("float32", "bfloat16")
WINDOW, LAYERS = 512, 12
"""Tokens that a query of a ``window`` cell looks at; layers of a model that decodes."""


@dataclass(frozen=True, repr=False)
class Cell:
    """One case: ``batch`` sequences of ``n_tokens``, and what is done with them.

    A ``decode`` cell makes one token behind ``n_tokens`` cached ones, in ``n_layers`` with
    weights and caches of their own. ``bfloat16`` is inside only: tokens go in and come out as
    float32. ``ragged`` sequences fill 62 % of their rows.
    """

    batch: int
    n_tokens: int
    d_model: int
    n_heads: int
    mask: str = "full"
    mode: str = "forward"
    precision: str = "float32"
    n_kv_heads: int | None = None
    n_layers: int = 1

    def __post_init__(self) -> None:
        checks.positive(batch=self.batch, n_tokens=self.n_tokens, n_layers=self.n_layers)
        checks.head_width(self.d_model, self.n_heads)
        checks.divides(n_heads=self.n_heads, n_kv_heads=self.kv_heads)
        for value, known in (
            (self.mask, MASKS), (self.mode, MODES), (self.precision, PRECISIONS)
        ):  # fmt: skip
            if value not in known:
                raise ValueError(f"{value!r} is not one of {', '.join(known)}.")

    def __repr__(self) -> str:
        heads = f"{self.n_heads} heads"
        if self.kv_heads != self.n_heads:
            heads = f"{self.n_heads} heads on {self.kv_heads}"
        words = [self.size, f"d_model {self.d_model}", heads, self.mask, self.mode]
        if self.mode == "decode":
            words.remove(self.mask)
        words += [f"{self.n_layers} layers"] if self.n_layers > 1 else []
        return ", ".join(words + [p for p in [self.precision] if p != "float32"])

    @property
    def size(self) -> str:
        """Batch × tokens, as it is written in tables."""
        return f"{self.batch} × {self.n_tokens}"

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def lengths(self) -> list[int]:
        """Real tokens of every sequence: all, or from a quarter upward when ragged."""
        if self.mask != "ragged":
            return [self.n_tokens] * self.batch
        first, steps = self.n_tokens // 4, max(1, self.batch - 1)
        return [first + (self.n_tokens - first) * i // steps for i in range(self.batch)]

    @property
    def predicate(self) -> masks.Predicate | None:
        """The mask as ours takes it."""
        return {
            "full": None,
            "causal": masks.causal,
            "ragged": masks.padding(self.lengths),
            "window": masks.sliding_window(WINDOW),
        }[self.mask]

    @property
    def pairs(self) -> int:
        """Pairs (query, key) that may look, over the batch, of one head.

        >>> Cell(2, 4, 8, 2, "causal").pairs
        20
        """
        if self.mode == "decode":
            return self.batch * (self.n_tokens + 1)
        if self.mask in ("full", "ragged"):
            return sum(n * n for n in self.lengths)
        seen = self.n_tokens if self.mask == "causal" else min(WINDOW, self.n_tokens)
        return self.batch * (seen * (seen + 1) // 2 + (self.n_tokens - seen) * seen)


@dataclass(frozen=True)
class Goal:
    """What a cell is to reach: time at most ``limit`` times that of ``of``, best ``stretch``.

    Without a limit the goal is a tie or better.
    """

    of: str
    limit: float | None = None
    stretch: float | None = None


def goal(cell: Cell) -> Goal | None:
    """The goal of a cell, where one is set.

    >>> goal(Cell(8, 512, 512, 8, "causal"))
    Goal(of='raw', limit=0.93, stretch=0.76)
    """
    key = cell.batch, cell.n_tokens
    if cell.mode == "decode":
        if key != (8, 4096):
            return Goal("best peer")
        grouped = cell.kv_heads != cell.n_heads
        return Goal("raw", 0.70, 0.55) if grouped else Goal("raw", 0.92, 0.85)
    if cell.mask == "window":
        return Goal("best peer")
    if cell.precision == "bfloat16":
        if cell.mode == "forward":
            return Goal("raw", 0.34 if cell.n_tokens >= 128 else 0.42, 0.25)
        return Goal("raw", {2048: 0.50, 4096: 0.58}.get(cell.n_tokens, 0.46), 0.30)
    return _FORWARD.get((*key, cell.mask)) if cell.mode == "forward" else _training(cell)


def _training(cell: Cell) -> Goal:
    if cell.mask == "ragged":
        return Goal("raw", {128: 0.85, 512: 0.70, 2048: 0.60}.get(cell.n_tokens))
    return Goal("best peer", 1.03, 0.90)


_FORWARD = {
    (1, 16, "full"): Goal("raw", 0.60, 0.45),
    (1, 16, "causal"): Goal("raw", 0.60, 0.45),
    (8, 128, "full"): Goal("best peer", None, 0.88),
    (8, 128, "causal"): Goal("best peer", None, 0.88),
    (8, 512, "full"): Goal("raw", 0.97, 0.88),
    (8, 512, "causal"): Goal("raw", 0.93, 0.76),
    (2, 2048, "full"): Goal("best peer", None, 0.91),
    (2, 2048, "causal"): Goal("best peer", None, 0.84),
    (1, 4096, "full"): Goal("best peer", None, 0.91),
    (1, 4096, "causal"): Goal("best peer", None, 0.84),
    (8, 128, "ragged"): Goal("raw", 0.76, 0.68),
    (8, 512, "ragged"): Goal("raw", 0.62, 0.56),
    (2, 2048, "ragged"): Goal("raw", 0.58, 0.52),
}

SIZES = {
    (1, 16, 512, 8): ("full", "causal"),
    (8, 128, 512, 8): ("full", "causal", "ragged"),
    (8, 512, 512, 8): ("full", "causal", "ragged"),
    (2, 2048, 768, 12): ("full", "causal", "ragged"),
    (1, 4096, 512, 8): ("full", "causal", "window"),
}


def grid(quick: bool = False) -> list[Cell]:
    """Whole passes, forward and training, in float32 and with bfloat16 inside.

    >>> len(grid()), len(grid(quick=True))
    (53, 5)
    """
    if quick:
        small = (8, 128, 512, 8)
        return [
            Cell(1, 16, 512, 8),
            Cell(*small),
            Cell(*small, "ragged"),
            Cell(*small, "causal", "training"),
            Cell(*small, "full", "forward", "bfloat16"),
        ]
    return [
        Cell(*size, mask, mode, precision)
        for size, kinds in SIZES.items()
        for mask in kinds
        for precision in PRECISIONS
        for mode in ("forward", "training")
        if mask != "window" or (precision, mode) == ("float32", "forward")
    ]


def decode(quick: bool = False) -> list[Cell]:
    """One token behind a cache: alone, in a batch, and alone in a model of many layers.

    >>> len(decode())
    24
    """
    heads = ((512, 8, 8), (1024, 16, 4))
    contexts = (512,) if quick else (512, 1024, 2048, 4096)
    return [
        Cell(batch, n, d_model, n_heads, mode="decode", n_kv_heads=kv_heads, n_layers=layers)
        for d_model, n_heads, kv_heads in (heads[1:] if quick else heads)
        for batch, layers in ([(1, 1)] if quick else [(1, 1), (8, 1), (1, LAYERS)])
        for n in contexts
    ]
