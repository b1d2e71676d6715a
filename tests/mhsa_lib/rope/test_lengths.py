"""What turns by the length of its text: every sequence by its own, and what may go on."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.rope.scaling import DynamicScaling, LongRopeScaling
from tests.helpers.drawn import mha, rand

DYNAMIC = DynamicScaling(factor=4.0, length=8)


def test_every_sequence_turns_as_its_own_length_says():
    """The other library turns all as the longest of the batch."""
    rotary, rows = Rotary(4, scaling=DYNAMIC), rand(2, 3, 20, 4)
    positions = torch.stack([torch.arange(20), torch.arange(20) - 14])
    found = rotary(rows, positions[:, None])
    assert_close(found[0], rotary(rows[0], positions[0]))
    assert_close(found[1, :, 14:], rotary(rows[1, :, 14:], torch.arange(6)))
    assert_close(found[1, :, 14:], Rotary(4)(rows[1, :, 14:], torch.arange(6)))
    assert not torch.allclose(found[0], Rotary(4)(rows[0], torch.arange(20)))


def test_the_last_queries_of_a_long_text_turn_as_all_of_them():
    attention, x = mha(split=RotarySplit(3, Rotary(4, scaling=DYNAMIC))), rand(2, 20, 12)
    whole = attention(x, mask=masks.causal)
    assert_close(attention(x[:, -3:], x, mask=masks.causal), whole[:, -3:])


@pytest.mark.parametrize(
    ("scaling", "start", "end", "fits"),
    [
        (None, 8, 20, True),
        (DYNAMIC, 0, 20, True),
        (DYNAMIC, 5, 8, True),
        (DYNAMIC, 5, 9, False),
        (DYNAMIC, 12, 13, False),
        (LongRopeScaling((1.0, 1.0), (1.0, 2.0), 8), 8, 9, False),
        (LongRopeScaling((1.0, 1.0), (1.0, 2.0), 8), 9, 40, True),
        (LongRopeScaling((1.0, 2.0), (1.0, 2.0), 8), 5, 40, True),
    ],
)
def test_tokens_may_follow_those_that_would_not_turn_again(scaling, start, end, fits):
    rotary = Rotary(4, scaling=scaling)
    other = torch.arange(end - start)  # of a batch, this one begins
    padded = torch.tensor([-1, *range(start, end)])
    for positions in (torch.arange(start, end), padded):
        for batch in (positions, torch.stack([other, positions[-len(other) :]])):
            if fits:
                rotary.check_continuation(batch)
            else:
                words = rf"a text of {start} tokens continues to {end}, where \w+Scaling"
                with pytest.raises(ValueError, match=words):
                    rotary.check_continuation(batch)


def test_padding_alone_goes_on_anywhere():
    Rotary(4, scaling=DYNAMIC).check_continuation(torch.full((2, 3), -1))
