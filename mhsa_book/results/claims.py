"""What a comparison entitles one to say: more, less, the same, or nothing.

The rule, fixed before any run. Two arms are

- the same within the margin, if a margin was stated and two one-sided tests pass at 0.05;
- else more or less, if p is 0.05 or less, the 95 % interval leaves out 0, and the difference is
  larger than that of the A/A arm, where there is one;
- else not told apart, which is not the same as being the same.

Of several comparisons the p-values count after Holm's correction, those of differences and
those of equivalence each among themselves. The intervals are those of one comparison.
"""

from dataclasses import dataclass, replace

from mhsa_book.results.censored import PairedSteps
from mhsa_book.results.decimals import Number
from mhsa_book.results.holm import holm
from mhsa_book.results.paired import Paired

ALPHA = 0.05
"""The level of every test; 1 − ALPHA that of the intervals."""

MORE, LESS, SAME, OPEN = "more", "less", "the same within the margin", "not told apart"


Comparison = Paired | PairedSteps


@dataclass(frozen=True)
class Claim:
    """A comparison and how it is judged.

    Parameters
    ----------
    comparison : the two arms
    margin : largest difference that would not matter, in the unit of the measure, if "the
        same" is to be claimed
    floor : the A/A arm against its twin, in the same measure
    n_comparisons : comparisons of the experiment, this one included; ``corrected`` counts them

    Raises
    ------
    ValueError : for a margin that is not above 0, for a floor of another measure

    Examples
    --------
    >>> from mhsa_book.results.paired import paired
    >>> seeds = range(8)
    >>> wide, thin = ({i: base + i / 8 for i in seeds} for base in (1.0, 0.5))
    >>> Claim(paired({"wide": wide, "thin": thin})).verdict
    'more'
    """

    comparison: Comparison
    margin: Number | None = None
    floor: Comparison | None = None
    n_comparisons: int = 1
    corrected_p: float | None = None
    corrected_same_p: float | None = None

    def __post_init__(self) -> None:
        ours = self.comparison.measure
        if self.margin is not None:
            self.comparison.same_p(self.margin)  # refuses what is no margin
        if self.floor is not None and self.floor.measure != ours:
            raise ValueError(
                f"the floor is in {self.floor.measure}, the comparison in {ours}; compare the "
                f"A/A arms in the same measure."
            )

    @property
    def p(self) -> float:
        """P of the difference, after Holm's correction if it is one of several."""
        return self.comparison.p if self.corrected_p is None else self.corrected_p

    @property
    def same_p(self) -> float | None:
        """P of equivalence, corrected likewise; None without a margin."""
        if self.margin is None or self.corrected_same_p is not None:
            return self.corrected_same_p
        return self.comparison.same_p(self.margin)

    @property
    def significant(self) -> bool:
        """Whether p is small enough."""
        return self.p <= ALPHA

    @property
    def leaves_out_0(self) -> bool:
        """Whether 0 is outside the interval."""
        low, high = self.comparison.interval(1 - ALPHA)
        return low > 0 or high < 0

    @property
    def above_floor(self) -> bool:
        """Whether the arms differ by more than the A/A arms do."""
        floor = self.floor
        return floor is None or abs(self.comparison.difference) > abs(floor.difference)

    @property
    def is_significant(self) -> bool:
        """Whether all three say that the arms differ."""
        return self.significant and self.leaves_out_0 and self.above_floor

    @property
    def verdict(self) -> str:
        """One of ``MORE``, ``LESS``, ``SAME``, ``OPEN``, by the rule above."""
        if self.same_p is not None and self.same_p <= ALPHA:
            return SAME
        if not self.is_significant:
            return OPEN
        return MORE if self.comparison.difference > 0 else LESS


def corrected(*claims: Claim, unanswered: int = 0) -> tuple[Claim, ...]:
    """The claims of one experiment, with Holm's correction for how many they are.

    ``unanswered`` comparisons were planned too and have no result; they count with p = 1.

    >>> from mhsa_book.results.paired import paired
    >>> arms = {"a": {i: i + 1.0 for i in range(8)}, "b": {i: i / 2 for i in range(8)}}
    >>> claim = Claim(paired(arms))
    >>> [c.p for c in corrected(claim, claim)], claim.p
    ([0.015625, 0.015625], 0.0078125)
    """
    none = [1.0] * unanswered
    different = holm([claim.comparison.p for claim in claims] + none)[: len(claims)]
    same = [c.comparison.same_p(c.margin) for c in claims if c.margin is not None]
    left = iter(holm(same + none))
    return tuple(
        replace(
            claim,
            n_comparisons=len(claims) + unanswered,
            corrected_p=p,
            corrected_same_p=None if claim.margin is None else next(left),
        )
        for claim, p in zip(claims, different, strict=True)
    )
