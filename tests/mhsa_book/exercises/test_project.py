"""Chapter 03: what the exercises on project let pass, and what they find."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check

BACK = examples.attention().project.W_Q.weight.T.detach()[8:, 4:8]


def test_a_turn_forward_finds_the_next_word_at_any_strength():
    assert check("next_word", BACK.T)
    assert check("next_word", 2 * BACK.T)


@pytest.mark.parametrize(
    ("hands", "said"),
    [
        (BACK, 'Word 1, "animal", gives most weight, 1.00, to word 0, "the"'),
        (torch.eye(4), 'Word 1, "animal", gives most weight'),
        (BACK.T / 3, 'gives most weight, 0.80, to word 2, "avoided"; word 2 should get'),
        (BACK[0], "shape (4, 4)"),
    ],
)
def test_another_block_is_refused_with_the_word_that_it_misleads(hands, said):
    assert said in check("next_word", hands).text


def test_rows_packed_by_head_and_read_by_kind_are_refused():
    read_by_kind = check("unpack", lambda rows, n_heads: rows.chunk(3, dim=-1))
    assert "n_heads = 2" in read_by_kind.text
