"""Chapter 26: what is said about budgets of heads, corrected states, and copying heads."""

import pytest
import torch

from mhsa_book.exercises import check, head_memory


def test_half_of_the_layers_keep_128_tokens():
    assert check("head_budget", 2 * 8 * 64 * 2 * (18 * 131_072 + 18 * 128))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (2048 * 36 * 131_072, "Half of the layers"),
        (2048 * 18 * 131_072, "keep something, too"),
        (1024 * (18 * 131_072 + 18 * 128), "A key and a value"),
        (7, "7 is not it"),
    ],
)
def test_another_budget_hears_what_was_forgotten(answer, said):
    assert said in check("head_budget", answer).text


def test_a_state_that_is_corrected_is_right():
    def mine(S, k, v, b):
        return (torch.eye(len(k)) - b * torch.outer(k, k)) @ S + b * torch.outer(k, v)

    assert check("delta_step", mine)


@pytest.mark.parametrize("mistake", head_memory.DELTAS)
def test_a_mistake_in_a_state_is_told(mistake):
    assert head_memory.DELTAS[mistake] in check("delta_step", mistake).text


def test_a_share_of_what_was_copied_is_right():
    assert check("copied_share", head_memory.copied)


@pytest.mark.parametrize("mistake", head_memory.COPIED)
def test_another_measure_of_copying_hears_why(mistake):
    assert head_memory.COPIED[mistake] in check("copied_share", mistake).text
