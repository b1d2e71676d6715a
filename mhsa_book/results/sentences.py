"""Claims in words: one sentence each, or a table; no number of a comparison is ever typed."""

from collections.abc import Sequence
from math import floor, isfinite, log10

from mhsa_book.results.claims import ALPHA, LESS, MORE, OPEN, SAME, Claim, Comparison
from mhsa_book.results.tables import Table

LEAST_P = 1e-4
"""What is smaller is printed as such."""


def sentence(claim: Claim) -> str:
    """One plain sentence: the arms, what is claimed, n, difference, interval, p, and the floor.

    Numbers have two digits of the interval's half width.

    >>> from mhsa_book.results.paired import Measure, paired
    >>> loss = Measure("loss", "nats", better="lower")
    >>> arms = {"wide": {i: 1 + i / 8 for i in range(8)}, "thin": {i: 1.5 for i in range(8)}}
    >>> print(sentence(Claim(paired(arms, loss))))
    wide and thin are not told apart in loss: mean difference −0.06 nats
    (95 % interval −0.32 to 0.19, p = 0.67, n = 8).
    """
    parts = [_difference(claim), *_same(claim), *_unclear(claim), *_floor(claim)]
    if claim.comparison.note:
        parts.append(claim.comparison.note)
    return f"{_verdict(claim)}: {'; '.join(parts)}."


def table(claims: Sequence[Claim], caption: str = "Arms, compared seed by seed.") -> Table:
    """A row per claim; it draws itself, in text and in HTML.

    >>> from mhsa_book.results.paired import paired
    >>> arms = {"a": {i: 1.0 + i / 8 for i in range(8)}, "b": {i: i / 8 for i in range(8)}}
    >>> table([Claim(paired(arms))]).rows
    (('a', 'b', 'value', '8', '1.0', '1.0 to 1.0', '0.0078', '0.0078', '', 'more'),)
    """
    head = (
        "first", "second", "measure", "n", "difference", "95 % interval", "p", "p, corrected",
        "same within", "verdict",
    )  # fmt: skip
    return Table(caption, head, tuple(_row(claim) for claim in claims))


def chance(floor: Comparison) -> str:
    """What an arm and its twin differ by: what no other difference can be told apart from.

    >>> from mhsa_book.results.paired import paired
    >>> arms = {"a": {i: i / 8 for i in range(8)}, "a again": {i: 0.5 for i in range(8)}}
    >>> print(chance(paired(arms)))
    Chance alone, a against a again: mean difference −0.06 (95 % interval −0.32 to 0.19).
    """
    ends = (
        ""
        if all(map(isfinite, floor.interval(0.95)))
        else "; ∞ stands for seeds that never did"
    )
    return (
        f"Chance alone, {floor.first} against {floor.second}: {floor.middle} difference "
        f"{_size(floor)} (95 % interval {_span(floor)}{ends})."
    )


def number(value: float, decimals: int) -> str:
    """A number with so many decimals, a true minus sign, and no minus before 0.

    >>> number(-0.004, 2), number(-1234.5, 0), number(float("-inf"), 2)
    ('0.00', '−1,234', '−∞')
    """
    text = f"{abs(value):,.{decimals}f}" if isfinite(value) else "∞"
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def probability(p: float) -> str:
    """P as it is printed: two digits or more, so that rounding never moves it across 0.05.

    >>> [probability(p) for p in (0.0, 2 / 256, 0.0499, 0.05, 0.9999)]
    ['p < 0.0001', 'p = 0.0078', 'p = 0.0499', 'p = 0.05', 'p = 1']
    """
    if p < LEAST_P:
        return f"p < {LEAST_P:.4f}"
    digits = 2
    while (
        p != ALPHA
        and (shown := float(f"{p:.{digits}g}")) != p
        and (shown == ALPHA or (shown < ALPHA) != (p < ALPHA))
    ):
        digits += 1
    return f"p = {p:.{digits}g}"


def _verdict(claim: Claim) -> str:
    c = claim.comparison
    if claim.verdict == OPEN:
        return f"{c.first} and {c.second} are not told apart in {c.measure.name}"
    if claim.verdict == SAME:
        return (
            f"{c.first} and {c.second} have the same {c.measure.name} within {_margin(claim)}"
        )
    direction = {MORE: "higher", LESS: "lower"}[claim.verdict]
    judged = "better" if direction == c.measure.better else "worse"
    return f"{c.first} has a {direction} {c.measure.name} than {c.second}, which is {judged}"


def _difference(claim: Claim) -> str:
    c = claim.comparison
    p = probability(c.p)
    if claim.n_comparisons > 1:
        p += f", corrected {_bare(claim.p)}"
    return f"{c.middle} difference {_size(c)} (95 % interval {_span(c)}, {p}, n = {c.n})"


def _same(claim: Claim) -> list[str]:
    if claim.same_p is None:
        return []
    p = probability(claim.same_p)
    if claim.n_comparisons > 1:
        p += " corrected"
    if claim.verdict != SAME:
        return [f"not shown to be the same within {_margin(claim)} ({p})"]
    inside = f"the 90 % interval {_span(claim.comparison, 0.90)} lies inside, {p}"
    return [inside] + (["though the difference is not 0"] if claim.is_significant else [])


def _unclear(claim: Claim) -> list[str]:
    """Why arms are not told apart although something speaks for it."""
    if claim.verdict != OPEN:
        return []
    found = []
    if claim.leaves_out_0 and not claim.significant:
        found.append(f"the interval leaves out 0, but {_judged(claim)} is above {ALPHA}")
    if claim.significant and not claim.leaves_out_0:
        found.append(f"{_judged(claim)} is at most {ALPHA}, but the interval holds 0")
    if claim.significant and claim.leaves_out_0 and not claim.above_floor:
        found.append("the A/A arms differ as much")
    return found


def _judged(claim: Claim) -> str:
    """The p that the verdict goes by."""
    return "the corrected p" if claim.n_comparisons > 1 else "p"


def _floor(claim: Claim) -> list[str]:
    if claim.floor is None:
        return []
    c = claim.floor
    said = f"A/A, {c.first} against {c.second}: {_size(c)} ({_span(c)})"
    apart = Claim(c).is_significant
    return [said + (", which should not differ and do" if apart else "")]


def _row(claim: Claim) -> tuple[str, ...]:
    c = claim.comparison
    same = "" if claim.same_p is None else f"{_margin(claim)}, {probability(claim.same_p)}"
    return (
        c.first, c.second, c.measure.name, str(c.n), _size(c), _span(c), _bare(c.p),
        _bare(claim.p), same, claim.verdict,
    )  # fmt: skip


def _decimals(c: Comparison, level: float = 0.95) -> int:
    """Two digits of the half width, and one of the end that is nearest to 0 if 0 is outside."""
    low, high = c.interval(level)
    wanted = [_places(abs(c.difference), 2)]
    if isfinite(high - low) and high > low:
        wanted = [_places((high - low) / 2, 2)]
    if low > 0 or high < 0:
        wanted.append(_places(min(abs(low), abs(high)), 1))
    return min(max(0, *wanted), 8)


def _places(value: float, digits: int) -> int:
    """Decimals that show so many digits of a number."""
    return digits - 1 - floor(log10(value)) if isfinite(value) and value > 0 else 0


def _size(c: Comparison) -> str:
    if c.at_least and c.difference == 0:
        return "unknown"
    more = (" or less" if c.difference < 0 else " or more") * c.at_least
    return f"{number(c.difference, _decimals(c))}{_unit(c)}{more}"


def _span(c: Comparison, level: float = 0.95) -> str:
    low, high = c.interval(level)
    decimals = _decimals(c, level)
    return f"{number(low, decimals)} to {number(high, decimals)}"


def _margin(claim: Claim) -> str:
    return f"±{claim.margin:,.10g}{_unit(claim.comparison)}"


def _unit(c: Comparison) -> str:
    return f" {c.measure.unit}" if c.measure.unit else ""


def _bare(p: float) -> str:
    return probability(p).removeprefix("p = ").removeprefix("p ")
