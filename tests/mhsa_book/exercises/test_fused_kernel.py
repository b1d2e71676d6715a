"""Chapter 16: what is said about blocks, loops with a mask, and parts to merge."""

import pytest
import torch

from mhsa_book.exercises import check, fused_kernel
from mhsa_lib import masks


def online(line):
    """The loop of the chapter, with the line to change."""

    def masked(q, k, v, mask, block):
        largest, total, z = torch.tensor(float("-inf")), 0, 0
        parts = zip(k.split(block), v.split(block), mask.split(block, 1), strict=True)
        for K, V, M in parts:
            scores = line(q @ K.mT, M)
            higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
            keep, powers = (largest - higher).exp(), (scores - higher).exp()
            total = keep * total + powers.sum(-1, keepdim=True)
            z, largest = keep * z + powers @ V, higher
        return z / total

    return masked


def late(q, k, v, mask, block):
    """Zero after the softmax: rows no longer sum to 1."""
    return ((q @ k.mT).softmax(-1) * mask) @ v


def test_the_blocks_are_counted():
    assert check("causal_blocks", (16 + 16 * 15 // 2, 16 * 16))
    assert check("causal_blocks", torch.tensor([136, 256]))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((128, 256), "computed whole"),
        ((120, 256), "below the diagonal"),
        ((36, 64), "blocks of 256"),
        ((256, 136), "First those"),
        ((136, 120), "skipped"),
        ((16, 256), "on the diagonal"),
        (136, "136 is not it"),
        (None, "None is not it"),
        ("136", "is not it"),
    ],
)
def test_other_blocks_hear_which_they_are(answer, said):
    assert said in check("causal_blocks", answer).text


@pytest.mark.parametrize(
    "line",
    [
        lambda s, M: s.masked_fill(~M, -torch.inf),
        lambda s, M: torch.where(M, s, -torch.inf),
        lambda s, M: s.masked_fill(~M, -1e9),
        lambda s, M: s + M.log(),
    ],
)
def test_lines_that_forbid_are_right(line):
    assert check("masked_online", online(line))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (online(lambda s, M: s), "changes nothing"),
        (online(lambda s, M: s + 0 * M), "changes nothing"),
        (online(lambda s, M: s * M), "e⁰ is 1"),
        (online(lambda s, M: s.masked_fill(~M, 0)), "e⁰ is 1"),
        (online(lambda s, M: s + M), "forbids nothing"),
        (online(lambda s, M: s.masked_fill(M, -torch.inf)), "True means"),
        (online(lambda s, M: (s / s.shape[-1]).masked_fill(~M, -torch.inf)), "The numbers"),
        (late, "The numbers differ"),
        (lambda q, k, v, mask, block: q, "The numbers differ"),
        (lambda q, k, v, mask, block: 1 / 0, "It raises ZeroDivisionError"),
        (None, "is no function"),
        ("online", "is no function"),
    ],
)
def test_other_lines_hear_what_they_do(answer, said):
    assert said in check("masked_online", answer).text


def test_a_triangle_that_is_not_the_mask_given_is_found():
    def causal(q, k, v, mask, block):
        seen = masks.causal.dense(len(q), len(k))
        return online(lambda s, M: s.masked_fill(~M, -torch.inf))(q, k, v, seen, block)

    assert "The numbers differ" in check("masked_online", causal).text


def softmax_of_logs(z_a, log_a, z_b, log_b):
    a, b = torch.cat([log_a, log_b], dim=-1).softmax(dim=-1).split(1, dim=-1)
    return a * z_a + b * z_b


def logaddexp(z_a, log_a, z_b, log_b):
    both = torch.logaddexp(log_a, log_b)
    return (log_a - both).exp() * z_a + (log_b - both).exp() * z_b


@pytest.mark.parametrize("merge", [softmax_of_logs, logaddexp])
def test_other_ways_to_merge_are_right(merge):
    assert check("merge", merge)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda z_a, log_a, z_b, log_b: z_a + z_b, "Both z are means"),
        (lambda z_a, log_a, z_b, log_b: (z_a + z_b) / 2, "the larger share"),
        (lambda z_a, log_a, z_b, log_b: softmax_of_logs(z_b, log_a, z_a, log_b), "exchanged"),
        (
            lambda z_a, log_a, z_b, log_b: z_a * log_a.exp() + z_b * log_b.exp(),
            "Divide by the whole",
        ),
        (
            lambda z_a, log_a, z_b, log_b: (z_a * log_a + z_b * log_b) / (log_a + log_b),
            "not of their logarithms",
        ),
        (
            lambda z_a, log_a, z_b, log_b: (
                (z_a * log_a.exp() + z_b * log_b.exp()) / (log_a.exp() + log_b.exp())
            ),
            "is infinite",
        ),
        (lambda z_a, log_a, z_b, log_b: z_a[0], "The shape is (1,)"),
        (lambda z_a, z_b: z_a, "It raises TypeError"),
        (None, "is no function"),
    ],
)
def test_other_merges_hear_what_they_do(answer, said):
    assert said in check("merge", answer).text


@pytest.mark.parametrize(
    ("name", "mistakes"),
    [("masked_online", fused_kernel.UNMASKED), ("merge", fused_kernel.UNMERGED)],
)
def test_every_mistake_that_is_foreseen_is_told_by_its_own_words(name, mistakes):
    assert all(why in check(name, mistake).text for mistake, why in mistakes.items())
