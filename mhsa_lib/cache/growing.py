"""The growing cache: the cached wires by name, each with the tokens of all calls so far."""

from typing import Any

from torch import Tensor

from mhsa_lib import checks, masks
from mhsa_lib.cache.position_table import PositionTable
from mhsa_lib.cache.positions import checked_order


class Cache(dict[str, Tensor]):
    """The cached wires by name, each with all tokens so far along its axis ``key``.

    ``positions`` knows where every token stands. ``window`` is the number of tokens after which
    one is forgotten, None for never.
    """

    def __init__(self, *, length: int | None = None, window: int | None = None) -> None:
        super().__init__()
        if window is not None:
            checks.positive(window=window)
        self.positions, self.window = PositionTable(length), window
        self.rule = None if window is None else masks.sliding_window(window)

    @property
    def n_tokens(self) -> int:
        """Slots in use, those with padding included."""
        return self.positions.n_slots

    @property
    def bytes(self) -> int:
        """Memory of the cached wires."""
        return sum(wire.numel() * wire.element_size() for wire in self.values())

    @property
    def lengths(self) -> Any:
        """Tokens of every sequence so far, padding left out, those forgotten included."""
        return self.positions.lengths.tolist()

    def announce(self, positions: Any) -> None:
        """Positions ``(*batch, token)`` of the next call's tokens, -1 for padding; None: go on.

        ``left_padded`` and ``right_padded`` make them from lengths. Without an
        announcement every sequence goes on where it ended. It holds for the next call that
        succeeds, until then, or until the next announcement, every call that it does not fit
        raises ``ValueError``.
        """
        self.positions.announce(positions)

    def reorder(self, order: Any) -> None:
        """Sequence i goes on from what sequence ``order[i]`` was: a step of beam search.

        ``order`` (sequence,) are whole numbers; sequences may be repeated, left out, and
        become more or fewer. Raises ``ValueError`` for a number that is no sequence, while
        the cache is empty or an announcement waits, and unless x has one leading axis.
        """
        order = checked_order(order, self.positions.sequences)
        self.positions.reorder(order)
        for wire, value in self.items():
            self[wire] = value.index_select(0, order.to(value.device))

    def forget(self) -> None:
        """Empty the cache; the next token stands at position 0."""
        self.clear()
        self.positions.forget()

    def __repr__(self) -> str:
        wires = ", ".join(f"{name} {tuple(wire.shape)}" for name, wire in self.items())
        return f"Cache({self.n_tokens} tokens, {self.bytes:,} bytes: {wires})"
