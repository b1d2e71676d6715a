"""Chapter 17: what is said about gains to believe, ratios of rounds, and gates."""

import pytest
import torch

from mhsa_book.exercises import benchmark, check


def test_one_gain_is_believed():
    assert check("believed", {"B"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (set("ABC"), "differs by 5 %"),
        (set("BC"), "in a quarter of the rounds"),
        (set("AB"), "inside the band"),
        ({"C"}, "a quarter of its rounds"),
        ({"A"}, "is not it"),
        ("B", "is not it"),
    ],
)
def test_another_set_hears_why(answer, said):
    assert said in check("believed", frozenset(answer) if answer != "B" else 3).text


def test_the_ratio_of_every_round_is_right_whatever_takes_the_median():
    def mine(ours, raw):
        return sorted(a / b for a, b in zip(ours, raw, strict=True))[len(ours) // 2]

    assert check("ratio_of_rounds", mine)


@pytest.mark.parametrize("mistake", benchmark.MISTAKES)
def test_every_other_statistic_hears_what_is_wrong_with_it(mistake):
    assert benchmark.MISTAKES[mistake] in check("ratio_of_rounds", mistake).text


def gate(run, compare=torch.allclose, **sizes):
    q, k, v = benchmark.draw(**sizes)
    return compare(run(q, k, v), benchmark._right(q, k, v), atol=1e-5)


def test_a_gate_that_compares_numbers_of_a_batch_is_right():
    assert check("gate", gate)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda run: True, "lets in one that hides nothing"),
        (lambda run: False, "keeps out the formula"),
        (lambda run: gate(run, batch=1), "lets in one that returns the first sequence for all"),
        (lambda run: gate(run, lambda a, b, atol: not (a - b).abs().max() > 1e-5), "to NaN"),
        (
            lambda run: gate(run, lambda a, b, atol: (a - b).abs().mean() < 1e-2),
            "a single wrong",
        ),
        (lambda run: gate(run, lambda a, b, atol: (a - b).abs().max() < 9e-3), "in bfloat16"),
        ("gate", "Hand over a function"),
    ],
)
def test_a_gate_with_a_hole_hears_who_came_through(answer, said):
    assert said in check("gate", answer).text


def test_a_stub_is_no_answer():
    assert check("gate", lambda run: ...).state == "unfilled"
