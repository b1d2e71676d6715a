"""Chapters 26 and 26a: what is said about reach, about states, and about summaries."""

import pytest
import torch

from mhsa_book.exercises import check, shared_caches


def test_forty_windows_reach_as_far_as_a_mask_that_is_applied_forty_times():
    near = torch.ones(6_000, dtype=torch.bool)
    seen = torch.zeros(6_000, dtype=torch.bool)
    seen[-1] = near[-1]  # the last token sees itself
    for _ in range(40):
        first = int(seen.nonzero()[0])
        seen[max(0, first - 127) : first] = True
    assert check("window_reach", int(seen.sum()) - 1)


def test_a_break_even_is_the_first_length_at_which_latents_are_larger():
    state = torch.zeros(32, 128, 128)  # float32
    n = 1
    while n * 576 * 2 < state.numel() * state.element_size():
        n += 1
    assert check("state_break_even", n)
    assert "still smaller" in check("state_break_even", n - 1).text


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("window_reach", 5120, "counts the own token"),
        ("window_reach", 127, "one layer"),
        ("state_break_even", 911, "Four bytes"),
        ("state_break_even", 57, "32 heads"),
    ],
)
def test_another_number_hears_what_was_forgotten(name, answer, said):
    assert said in check(name, answer).text


def test_summaries_by_a_loop_are_right():
    def mine(v, gate, m):
        blocks = range(len(v) // m)
        return torch.stack(
            [
                sum(gate[i * m : (i + 1) * m].softmax(0)[j] * v[i * m + j] for j in range(m))
                for i in blocks
            ]
        )

    assert check("summaries", mine)


@pytest.mark.parametrize("mistake", shared_caches.SUMMARIES)
def test_a_mistake_in_a_summary_is_told(mistake):
    assert shared_caches.SUMMARIES[mistake] in check("summaries", mistake).text
