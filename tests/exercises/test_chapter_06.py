"""Two packed documents: every mask that is not theirs hears which pair is wrong."""

import pytest
import torch

from mhsa_lib import examples, masks
from mhsa_lib.exercises import check
from mhsa_lib.exercises.chapter_06 import DOCUMENT, packed_documents

document = torch.tensor(DOCUMENT)
together = masks.custom(lambda query, key: document[query] == document[key])
RIGHT = masks.causal & together


@pytest.mark.parametrize(
    "answer", [RIGHT, RIGHT.dense(7, 7), RIGHT.dense(7, 7)[None, None], masks.picture(RIGHT, 7)]
)
def test_a_rule_a_tensor_and_a_drawing_are_right(answer):
    assert check("packed_documents", answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (masks.causal, "Query 4 may look at key 0, which stands in the other document."),
        (together, "Query 0 may look at key 1, which comes later."),
        (masks.sliding_window(2) & together, "Query 2 may not look at key 0, though"),
        (RIGHT.dense(7, 7).float(), "7 × 7 squares"),
        (["■"] * 7, "7 × 7 squares"),
    ],
)
def test_a_wrong_mask_hears_the_first_wrong_pair(answer, said):
    assert said in repr(check("packed_documents", answer))


def test_under_the_right_mask_each_document_is_read_as_if_alone():
    mha, first, second = (
        examples.attention(),
        examples.embed("the dog left so"),
        examples.embed("a child hungry"),
    )
    packed = mha(torch.cat([first, second]), mask=RIGHT)
    apart = [mha(words, mask=masks.causal) for words in (first, second)]
    torch.testing.assert_close(packed, torch.cat(apart))
    assert packed_documents(RIGHT) == ""
