"""What is chosen on one half is reported on the other, and nothing leaks."""

import pytest
import torch

from mhsa_book import roles
from mhsa_book.roles.arcs import fixed_offset, hits_both_ways
from tests.mhsa_book.roles.sentences import SENTENCES

EVEN, ODD = torch.tensor([0, 0, 2, 4]), torch.tensor([1, 3, 3, 5, 7, 7])
SENTENCE = torch.cat([EVEN, ODD])


def columns(*heads):
    return torch.tensor(heads).T


def test_each_half_reports_what_the_other_has_chosen():
    good_on_even = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    good_on_odd = [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    guesses = {"near": torch.tensor(good_on_even), "far": torch.tensor(good_on_odd)}
    heads = columns([0] * 10, good_on_even, good_on_odd)[:, None]
    found = roles.judged(heads, guesses, SENTENCE)
    on_odd, on_even = found.rows
    assert (on_odd.chosen_on, on_odd.head, on_odd.guess, on_odd.n) == (
        "even",
        (0, 1),
        "near",
        6,
    )
    assert (on_even.chosen_on, on_even.head, on_even.guess) == ("odd", (0, 2), "far")
    assert on_odd.accuracy == on_odd.baseline == pytest.approx(1 / 6)
    assert on_even.accuracy == pytest.approx(1 / 4)
    assert found.accuracy == found.baseline == pytest.approx(2 / 10)
    assert found.difference == (0, 0, 0)
    assert not found.agrees


def test_a_head_that_knows_is_told_from_the_guess():
    heads = columns([1] * 10, [0] * 10)
    found = roles.judged(heads, {-1: torch.tensor([1, 0] * 5)}, SENTENCE)
    assert (found.n, found.accuracy, found.baseline) == (10, 1, 0.5)
    assert found.difference.mean == 0.5
    assert 0 < found.difference.low < 0.5 < found.difference.high <= 1
    assert found.agrees


def test_of_many_heads_that_know_nothing_none_is_better_than_chance():
    """In-sample the best of 144 stands out; reported on the other half it does not."""
    generator = torch.Generator().manual_seed(0)
    heads = torch.rand(200, 2, 6, 12, generator=generator) < 0.1
    sentence = torch.arange(200) // 2
    found = roles.judged(heads, {"chance": torch.full((200,), 0.1)}, sentence)
    assert heads.double().mean(dim=0).max() > 0.14
    assert found.accuracy < 0.14
    assert found.difference.low < 0 < found.difference.high


def test_the_interval_is_wider_where_arcs_of_a_sentence_go_together():
    hit = torch.tensor([0, 1]).repeat_interleave(20)
    together = roles.judged(hit[:, None], {"no": torch.zeros(40)}, torch.arange(40) // 5 + 10)
    apart = roles.judged(hit[:, None], {"no": torch.zeros(40)}, torch.arange(40))
    width = [j.difference.high - j.difference.low for j in (together, apart)]
    assert width[0] > 1.5 * width[1]


def test_of_equal_heads_the_first_is_taken():
    found = roles.judged(
        torch.ones(10, 2, 3, 4), {"a": SENTENCE * 0, "b": SENTENCE * 0}, SENTENCE
    )
    assert found.rows[0].head == (0, 0, 0)
    assert found.rows[0].guess == "a"


@pytest.mark.parametrize(
    ("right", "guess", "points", "percent"),
    [(6, 5, True, True), (10, 9, True, True), (4, 4, False, False), (1, 0, True, True)],
)
def test_the_rule_in_points_and_in_percent(right, guess, points, percent):
    ten = torch.arange(10)
    found = roles.judged((ten < right)[:, None], {"guess": ten < guess}, ten)
    assert (found.ten_points_over, found.ten_percent_over) == (points, percent)


def test_a_tenth_of_a_small_baseline_is_less_than_ten_points():
    twenty = torch.arange(20)
    found = roles.judged((twenty < 6)[:, None], {"guess": twenty < 5}, twenty)
    assert (found.ten_points_over, found.ten_percent_over) == (False, True)


@pytest.mark.bothways
def test_half_without_arcs_and_other_lengths_are_refused():
    heads, guesses = torch.ones(4, 2), {"a": torch.ones(4)}
    with pytest.raises(ValueError, match="4 arcs are in even sentences, 0 in odd ones"):
        roles.judged(heads, guesses, EVEN)
    with pytest.raises(ValueError, match=r"10 arcs, but heads for 4 and guesses for \[4\]"):
        roles.judged(heads, guesses, SENTENCE)
    with pytest.raises(ValueError, match=r"guesses for \[\]; pass one row an arc"):
        roles.judged(heads, {}, torch.arange(4))


def test_a_relation_is_judged_in_both_directions(readings):
    tops = roles.tops([reading.by_word for reading in readings])
    arcs = roles.dependencies(SENTENCES, "obj")
    found = roles.judged(hits_both_ways(tops, arcs), fixed_offset(arcs), arcs.sentence)
    assert {row.head[0] for row in found.rows} <= {0, 1}
    assert sum(row.n for row in found.rows) == found.n == len(arcs.word)
