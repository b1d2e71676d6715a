"""The limits of cards are those of their sources, and exponentials follow from their clocks."""

import pytest

from mhsa_book.costs import hardware
from mhsa_book.costs.cards import CARDS, card, exponential_share
from mhsa_book.costs.roofline import ridge

# FLOPs per clock and multiprocessor at 16 bits, of the papers: half a clock each for 4 d FLOPs.
PER_CLOCK = {"A100": 2048, "H100": 4096, "H200": 4096, "B200": 8192, "B300": 8192}


@pytest.mark.parametrize("name", PER_CLOCK)
def test_peaks_are_units_times_clock_times_what_one_does_in_a_clock(name):
    some = card(name)
    found = some.peak[16] / some.units / some.clock
    assert found == pytest.approx(PER_CLOCK[name], rel=0.01)


def test_exponentials_a_second_are_as_published():
    assert card("H100").exponentials == pytest.approx(3.9e12, rel=0.01)  # FlashAttention-3, 3.2
    assert card("B300").exponentials == 2 * card("B200").exponentials


@pytest.mark.parametrize("name", PER_CLOCK)
@pytest.mark.parametrize("d_head", [64, 128, 256])
def test_the_share_needs_no_clock(name, d_head):
    """16 or 32 exponentials beside 4 d FLOPs a pair: the clock and the units cancel."""
    a_clock = 32 if name == "B300" else 16
    cycles = 1 / a_clock, 4 * d_head / PER_CLOCK[name]
    found = exponential_share(card(name), d_head)
    assert found == pytest.approx(cycles[0] / cycles[1], rel=0.01)


def test_a_tile_of_128_on_a_b200_takes_as_many_clocks_for_both():
    """FlashAttention-4, Table 1: 1,024 clocks of matmuls and 1,024 of exponentials."""
    assert 4 * 128 * 128 * 128 / 8192 == 128 * 128 / 16 == 1024
    assert exponential_share(card("B200"), 128) == pytest.approx(1, rel=0.01)


def test_fewer_bits_make_the_exponentials_a_larger_share():
    h100 = card("H100")
    assert exponential_share(h100, 128, bits=8) == pytest.approx(1, rel=0.02)
    assert exponential_share(card("B200"), 128, bits=8) == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(("name", "other"), [("A100", "A100 80 GB SXM"), ("H100", "H100 SXM"),
                                             ("H200", "H200 SXM")])  # fmt: skip
def test_cards_that_both_lists_have_agree(name, other):
    assert card(name).rates() == hardware.rates(other)


def test_ridges_are_the_published_ones():
    assert [round(ridge(*card("B200").rates(bits))) for bits in (16, 8, 4)] == [281, 562, 1125]
    assert [round(ridge(*card("H100").rates(bits))) for bits in (16, 8)] == [295, 591]


def test_what_is_not_published_is_refused():
    with pytest.raises(ValueError, match="bits=4; it has \\[16, 8\\]"):
        card("H100").rates(4)
    with pytest.raises(ValueError, match="no rate of exponentials is published for the MI355X"):
        exponential_share(card("MI355X"), 128)
    with pytest.raises(ValueError, match="d_head=0 is not a size"):
        exponential_share(card("H100"), 0)
    with pytest.raises(ValueError, match="'H300' is not in this list"):
        card("H300")
    assert len({each.name for each in CARDS}) == len(CARDS)
