"""The exercises of chapter 02 find the mistakes that a first attempt makes."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check
from mhsa_book.exercises.several_heads import HEADS_NEEDED
from mhsa_lib import MultiHeadAttention


def least_error(wish, n_heads, seed):
    """What a trained attention of so many heads cannot get right of eight players' messages."""
    torch.manual_seed(seed)
    mha = MultiHeadAttention(24, n_heads, d_head=12)
    optimizer = torch.optim.Adam(mha.parameters(), lr=0.01)
    for _ in range(400):
        message = torch.randn(64, 8, 4)
        x = torch.cat([torch.eye(8).expand(64, 8, 8), message, torch.zeros(64, 8, 12)], -1)
        wanted = wish(message)
        loss = (mha(x)[..., -wanted.shape[-1] :] - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item() / wanted.square().mean().item()


def left(message):
    return message.roll(1, dims=1)


def right(message):
    return message.roll(-1, dims=1)


def by_turns(message):
    even = (torch.arange(8) % 2 == 0)[:, None]
    return torch.where(even, left(message), right(message))


def of_three(message):
    return torch.cat([left(message), right(message), message.roll(4, dims=1)], dim=-1)


GAMES = (
    lambda message: left(message) + right(message),
    lambda message: left(message) - right(message),
    by_turns,
    of_three,
)


@pytest.mark.parametrize("game", range(4))
def test_so_many_heads_solve_a_game_and_one_fewer_do_not(game):
    needed = HEADS_NEEDED[game]
    assert least_error(GAMES[game], needed, 0) < 0.05
    if needed > 1:
        assert least_error(GAMES[game], needed - 1, 0) > 0.15


def test_a_wrong_number_of_heads_is_named():
    assert check("heads_needed", [1, 2, 1, 3])
    assert check("heads_needed", (1, 2, 1, 3))
    for game in range(4):
        answer = [*HEADS_NEEDED]
        answer[game] += 1
        assert (
            f"Game {game + 1} does not need {answer[game]}"
            in check("heads_needed", answer).text
        )
    assert "Give 4 numbers" in check("heads_needed", [1, 2]).text


def test_the_layer_in_which_one_map_helps_is_found_by_the_model():
    assert check("better_with_one_map", 24)
    assert not check("better_with_one_map", 16)
    assert "the opposite" in check("better_with_one_map", 23).text


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (" ".join(examples.SENTENCES[0]), "One head puts 0.00 on animal"),
        ("the child left the dog too hungry", "finds no one noun"),
        ("hungry", "finds no one noun"),
        ("too the animal", "is no quality"),
        ("the cat left", "No vector for 'cat'"),
        ("", "one string"),
    ],
)
def test_a_sentence_for_one_head_is_told_what_it_lacks(sentence, said):
    assert said in check("one_head_is_enough", sentence).text


def test_one_head_is_enough_where_two_questions_agree():
    assert check("one_head_is_enough", "the street avoided the animal tired")
    assert check("one_head_is_enough", "the animal avoided the street wide")
