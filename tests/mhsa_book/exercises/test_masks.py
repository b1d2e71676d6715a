"""What a wrong mask of two packed documents hears, and a wrong masked softmax."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check
from mhsa_book.exercises.masks import DOCUMENT, packed_documents
from mhsa_lib import masks

document = torch.tensor(DOCUMENT)
together = masks.custom(lambda query, key: document[query] == document[key])
RIGHT = masks.causal & together


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT,
        RIGHT.dense(7, 7),
        RIGHT.dense(7, 7)[None, None],
        RIGHT.dense(7, 7).tolist(),
        masks.picture(RIGHT, 7),
        "\n".join(masks.picture(RIGHT, 7)),
    ],
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
        (["x......"] * 7, "a drawing is made of ■ and ·"),
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


def forbid(scores, mask, number=-torch.inf):
    return torch.softmax(scores.masked_fill(~mask, number), dim=-1)


def add(scores, mask):
    return torch.softmax(
        scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf), dim=-1
    )


def overwrite(scores, mask):
    weights = forbid(scores, mask, -1e9)
    weights[(~mask).expand_as(weights)] = 0
    return weights


def renormalise(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)


def check_softmax(masked):
    def softmax(scores, mask):
        return torch.softmax(scores, dim=-1) if mask is None else masked(scores, mask)

    return check("softmax", softmax)


@pytest.mark.parametrize(
    ("masked", "said"),
    [
        (
            lambda scores, mask: torch.softmax(scores, dim=-1),
            "The mask changes nothing.\nThe num",
        ),
        (lambda scores, mask: torch.softmax(scores, dim=-1) * mask, "no longer sums to 1"),
        (lambda scores, mask: torch.softmax(scores * mask, dim=-1), "e⁰ is 1"),
        (lambda scores, mask: torch.softmax(scores + mask.float(), dim=-1), "forbids nothing"),
        (lambda scores, mask: forbid(scores, ~mask), "True means: may look"),
        (forbid, "A row without any key is NaN"),
        (lambda scores, mask: forbid(scores, mask, -1e9), "keys that are forbidden"),
        (renormalise, "There is a row of weights that does not sum to 1"),
        (
            lambda scores, mask: forbid(scores, mask).detach().nan_to_num(),
            "nothing can be learned",
        ),
        (lambda scores, mask: add(scores, mask).nan_to_num(), "Their gradient is NaN"),
        (overwrite, "Their gradient raises RuntimeError"),
    ],
)
def test_a_wrong_masked_softmax_hears_its_mistake(masked, said):
    verdict = check_softmax(masked)
    assert not verdict
    assert said in repr(verdict)


@pytest.mark.parametrize(
    "masked",
    [
        lambda scores, mask: forbid(scores, mask).nan_to_num(),
        lambda scores, mask: forbid(scores, mask, -1e9) * mask,
        lambda scores, mask: forbid(torch.from_numpy(scores.numpy()), mask).nan_to_num(),
    ],
)
def test_a_right_masked_softmax_may_be_written_in_many_ways(masked):
    assert check_softmax(masked)
