"""Chapter 12a: what the encoder's heads are worth together, ranks, and a mean."""

import math

import torch

from mhsa_book.exercises import check
from mhsa_book.exercises.head_effects import by_mean, without_encoder


def test_without_the_encoder_the_translator_is_worse_than_a_coin():
    more = without_encoder()
    assert more > math.log(2)
    assert math.exp(-more) < 1 / 3  # the solution says so
    assert check("without_the_encoder", more)
    assert not check("without_the_encoder", math.log(2))


def by_differences(a, b):
    """The schoolbook's formula: one less six times the squared differences of ranks."""
    ranks = [[sorted(each).index(value) for value in each] for each in (a, b)]
    n, apart = len(a), sum((i - j) ** 2 for i, j in zip(*ranks, strict=True))
    return 1 - 6 * apart / (n * (n**2 - 1))


def by_comparing(a, b):
    ranks = [(t[:, None] > t).sum(dim=1).double() for t in map(torch.tensor, (a, b))]
    first, second = (each - each.mean() for each in ranks)
    return first @ second / (first.norm() * second.norm())


def sorted_once(a, b):
    first, second = (torch.tensor(each).argsort().double() for each in (a, b))
    return torch.corrcoef(torch.stack([first, second]))[0, 1]


def test_ranks_are_correlated_and_nothing_else():
    for right in (by_differences, by_comparing):
        assert check("rank_correlation", right)
    numbers = check("rank_correlation", lambda a, b: torch.corrcoef(torch.tensor([a, b]))[0, 1])
    assert "take their ranks" in numbers.text
    assert "sort that once more" in check("rank_correlation", sorted_once).text


def test_a_mean_is_one_vector_for_all():
    assert check("by_its_mean", by_mean)
    assert check("by_its_mean", lambda z: z * 0 + z.flatten(0, 1).mean(dim=0))
    for wrong, said in (
        (lambda z: 0 * z, "zero ablation"),
        (lambda z: z * 0 + z.mean(dim=1, keepdim=True), "own mean"),
        (lambda z: z * 0 + z.mean(dim=2, keepdim=True), "columns are averaged"),
        (lambda z: z * 0 + z.mean(), "a mean of its own"),
    ):
        assert said in check("by_its_mean", wrong).text
