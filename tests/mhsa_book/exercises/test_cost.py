"""Chapter 15: what is said about FLOPs that are equal, sizes that suffice, and least times."""

import pytest
import torch

from mhsa_book import costs
from mhsa_book.costs import hardware, roofline
from mhsa_book.exercises import check, cost

H200, A100 = hardware.rates("H200 SXM"), hardware.rates("A100 80 GB SXM")


def stages(batch, n_query=1, n_kv_heads=8):
    sizes = {"n_kv_heads": n_kv_heads, "n_key": 131_072, "batch": batch}
    return roofline.stages(n_query, 8192, 64, **sizes).values()


def seconds(batch, **sizes):
    return [roofline.seconds(part, *H200) for part in stages(batch, **sizes)]


def least(batch):
    return 80 * sum(seconds(batch))


def test_at_5_d_over_4_both_halves_are_equal():
    assert check("equal_flops", 5 * 4096 // 4)
    flops = costs.flops(5120, 4096, 32, n_kv_heads=8)
    assert flops["scores"] + flops["z"] == sum(flops.values()) / 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (8192, "four square projections"),
        (10240, "two products"),
        (4096, "W_K and W_V cost too"),
        (6144, "a quarter"),
        (3072, "W_O"),
        (1024, "the length of the question above"),
        (5121, "5121 is not it"),
        (None, "None is not it"),
        ("5120", "'5120' is not it"),
        (torch.ones(2), "is not it"),
    ],
)
def test_another_length_hears_what_was_forgotten(answer, said):
    assert said in check("equal_flops", answer).text


def test_39_tokens_are_enough_on_an_a100_and_52_on_an_h200():
    def checking(size):
        sizes = {"n_kv_heads": 8, "n_key": 131_072}
        return roofline.stages(size, 4096, 32, **sizes)["scores + mix"]

    assert check("checked_at_once", roofline.compute_bound_from(checking, *A100))
    assert checking(39).intensity > roofline.ridge(*A100) > checking(38).intensity
    on_an_h200 = roofline.compute_bound_from(checking, *H200)
    assert "an H200" in check("checked_at_once", on_an_h200).text


def test_a_batch_is_not_what_grows():
    def checking(size):
        sizes = {"n_kv_heads": 8, "n_key": 131_072, "batch": size}
        return roofline.stages(1, 4096, 32, **sizes)["scores + mix"]

    found = roofline.compute_bound_from(checking, *A100)
    assert found is None
    assert "Let n_query grow" in check("checked_at_once", found).text


def test_plain_heads_would_need_more_tokens():
    def checking(size):
        return roofline.stages(size, 4096, 32, n_key=131_072)["scores + mix"]

    found = roofline.compute_bound_from(checking, *A100)
    assert "four share one" in check("checked_at_once", found).text


def test_the_least_seconds_and_the_two_numbers_that_are_said():
    said = check("least_seconds", least)
    assert said
    assert f"{1000 * least(1):.0f} thousandths" in said.text
    assert f"{64 * least(1) / least(64):.2f}" in said.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda batch: sum(seconds(batch)), "one layer of 80"),
        (lambda batch: 1000 * least(batch), "milliseconds"),
        (lambda batch: 80 * max(seconds(batch)), "add up"),
        (lambda batch: 80 * sum(seconds(batch, n_kv_heads=64)), "n_kv_heads=8"),
        (lambda batch: 80 * sum(seconds(batch, n_query=131_072)), "n_query=1"),
        (lambda batch: least(1), "changes nothing"),
        (lambda batch: batch * least(1), "read once"),
        (lambda batch: least(batch) / batch, "of the whole step"),
        (
            lambda batch: 80 * sum(part.bytes for part in stages(batch)) / H200.bandwidth,
            "no longer wait for memory",
        ),
        (lambda batch: 0.014, "The smallest input"),
        (lambda batch: "14 ms", "It is a str"),
        (lambda batch: torch.ones(3), "The shape is (3,)"),
        (lambda size, batch: 1.0, "It raises TypeError"),
        (0.014, "is no function"),
    ],
)
def test_other_times_hear_what_they_are(answer, said):
    assert said in check("least_seconds", answer).text


def test_every_mistake_that_is_foreseen_differs_from_the_others():
    said = [check("least_seconds", mistake).text for mistake in cost.MISTAKES]
    assert len(set(said)) == len(said)
    assert all(why in text for why, text in zip(cost.MISTAKES.values(), said, strict=True))
