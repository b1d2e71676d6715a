"""Published limits of cards of 2020 to 2025: arithmetic, memory, and exponentials.

A softmax needs one exponential for every pair of a query and a key, and a card has units of
their own for them. How many it computes a second is a limit beside the peak and the bandwidth,
and matters inside a fused kernel only: an exponential that is written to memory waits for that.
Peaks are dense ones, without 2:4 sparsity.

Sources, read in November 2026. Exponentials of H100 and B200, 16 per clock and multiprocessor,
and 32 on a B300: Zadouri et al., "FlashAttention-4", section 2.2, arXiv 2603.05451; the clocks
are those by which the peak is reached, there and in Shah et al., "FlashAttention-3", section
3.2, arXiv 2407.08608. Peaks and bandwidths: NVIDIA's specification pages and "Inside NVIDIA
Blackwell Ultra" (August 2025), AMD's of the MI355X, Google Cloud's page of TPU7x.
"""

from dataclasses import dataclass

from mhsa_book.costs.configurations import find
from mhsa_book.costs.roofline import Rates
from mhsa_lib import checks


@dataclass(frozen=True)
class Card:
    """Limits of one accelerator, by its maker.

    ``peak`` holds FLOPs per second by the bits of the numbers that are multiplied,
    ``bandwidth`` bytes per second, ``memory`` bytes. ``units`` are multiprocessors and
    ``exponentials_per_clock`` what one of them computes; 0 where no number was published.
    """

    name: str
    year: int
    peak: dict[int, float]
    bandwidth: float
    memory: int
    units: int = 0
    clock: float = 0.0
    exponentials_per_clock: int = 0

    @property
    def exponentials(self) -> float:
        """Exponentials a second; 0 where no number was published."""
        return self.units * self.clock * self.exponentials_per_clock

    def rates(self, bits: int = 16) -> Rates:
        """The two limits of a roofline; ``ValueError`` for bits that have no peak.

        >>> card("B200").rates(8)
        Rates(peak=4500000000000000.0, bandwidth=8000000000000.0)
        """
        if bits not in self.peak:
            raise ValueError(
                f"no peak of the {self.name} at bits={bits}; it has {[*self.peak]}."
            )
        return Rates(self.peak[bits], self.bandwidth)


CARDS = (
    Card("A100", 2020, {16: 312e12}, 2.039e12, 80 * 10**9, 108, 1.41e9, 16),
    Card("H100", 2022, {16: 989e12, 8: 1979e12}, 3.35e12, 80 * 10**9, 132, 1.83e9, 16),
    Card("H200", 2023, {16: 989e12, 8: 1979e12}, 4.8e12, 141 * 10**9, 132, 1.83e9, 16),
    Card("B200", 2024, {16: 2.25e15, 8: 4.5e15, 4: 9e15}, 8e12, 180 * 10**9, 148, 1.85e9, 16),
    Card("B300", 2025, {16: 2.25e15, 8: 4.5e15, 4: 14e15}, 8e12, 288 * 10**9, 148, 1.85e9, 32),
    Card("MI355X", 2025, {16: 2.5e15, 8: 5e15, 4: 10e15}, 8e12, 288 * 10**9),
    Card("TPU7x", 2025, {16: 2.307e15, 8: 4.614e15}, 7.38e12, 192 * 2**30),
)
"""Dense peaks. The B300 is taken to have as many units, at the same clock, as the B200."""


def card(name: str) -> Card:
    """The card of that name; ``ValueError`` lists those that there are.

    >>> card("H100").memory
    80000000000
    """
    found: Card = find(name, CARDS)
    return found


def exponential_share(card: Card, d_head: int, bits: int = 16) -> float:
    """Time of the exponentials as a share of the time of both matmuls, each at its limit.

    A pair of a query and a key costs ``4 * d_head`` FLOPs and one exponential. Above 1 the
    exponentials are the limit, however well a kernel overlaps the two. Raises ``ValueError``
    where the card's rate of exponentials is not published.

    >>> round(exponential_share(card("H100"), d_head=128), 1)
    0.5
    >>> round(exponential_share(card("B200"), d_head=64), 1)
    2.0
    """
    checks.positive(d_head=d_head)
    if not card.exponentials:
        raise ValueError(f"no rate of exponentials is published for the {card.name}.")
    return card.rates(bits).peak / (4 * d_head) / card.exponentials
