"""What a wrong mask of two packed documents hears, and a wrong masked softmax."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check
from mhsa_book.exercises.masks import PACKED
from mhsa_lib import masks


def pack(lengths):
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    mask = (document[:, None] == document).tril()
    return mask, torch.cat([torch.arange(length) for length in lengths])


def by_rule(lengths):
    document = [i for i, length in enumerate(lengths) for _ in range(length)]
    return masks.causal & masks.documents(document), pack(lengths)[1].tolist()


@pytest.mark.parametrize(
    "answer", [pack, by_rule, lambda n: (pack(n)[0][None, None], pack(n)[1])]
)
def test_a_tensor_and_a_rule_are_right(answer):
    assert check("packed_documents", answer)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda m, p: (torch.ones_like(m).tril(), p),
            "query 2 may attend to key 0, which",
        ),
        (lambda m, p: (m | m.T, p), "query 0 may attend to key 1, which comes later"),
        (lambda m, p: (torch.eye(len(p)).bool(), p), "query 1 may not attend to key 0, though"),
        (lambda m, p: (m.float(), p), "3 × 3 booleans"),
        (lambda m, p: m, "return two things"),
        (lambda m, p: (m, torch.arange(len(p))), "token 2 is told that its position is 2"),
        (lambda m, p: (m, p + 1), "token 0 is told that its position is 1"),
        (lambda m, p: (m, p[:1]), "Give 3 positions"),
    ],
)
def test_what_is_wrong_with_a_packed_row_is_named(change, said):
    assert said in repr(check("packed_documents", lambda lengths: change(*pack(lengths))))


def test_the_stub_is_told_to_be_filled():
    assert "place of the dots" in check("packed_documents", lambda lengths: ...).text


@pytest.mark.parametrize("lengths", PACKED)
def test_with_such_masks_and_positions_each_document_is_read_as_if_alone(lengths):
    mha, words = examples.attention(), ["the", "dog", "left", "so", "hungry"]
    documents = [examples.embed(" ".join(words[:length])) for length in lengths]
    mask, positions = pack(lengths)
    kinds = torch.cat([examples.meanings(words[:length]) for length in lengths])
    packed = mha(kinds + examples.positions(8)[positions], mask=mask)
    apart = [mha(words, mask=masks.causal) for words in documents]
    torch.testing.assert_close(packed, torch.cat(apart))


def test_a_window_that_keeps_the_first_word_is_right():
    def by_cases(query, key, window):
        first, near = key == 0, query < key + window
        return torch.where(query < key, False, first | near)

    assert check("window_and_first", lambda q, k, w: (q >= k) & ((k == 0) | (q - k < w)))
    assert check("window_and_first", by_cases)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda q, k, w: (q >= k) & (q - k < w), "query 2 may not attend to key 0, the first"),
        (
            lambda q, k, w: (q - k < w) | (k == 0),
            "query 0 may attend to key 1, which comes later",
        ),
        (lambda q, k, w: (q >= k) & ((q - k <= w) | (k == 0)), "key 1, which is outside the"),
        (lambda q, k, w: (q >= k) & ((q - k < w - 1) | (k == 0)), "key 1, which is inside the"),
        (lambda q, k, w: (q >= k).float(), "5 × 5 booleans"),
        (lambda q, k, w: ..., "place of the dots"),
    ],
)
def test_what_is_wrong_with_a_window_is_named(rule, said):
    assert said in check("window_and_first", rule).text


READ = {"A": "times 0", "B": "inverted", "C": "right", "D": "too late"}


def test_the_mistakes_behind_four_maps_are_recognised():
    assert check("which_mask_mistake", READ)
    assert "A is not 'right'" in check("which_mask_mistake", {**READ, "A": "right"}).text
    assert "Add up the rows" in check("which_mask_mistake", {**READ, "D": "right"}).text
    assert "A, B, C and D" in check("which_mask_mistake", ["right"] * 4).text
    assert "place of the dots" in check("which_mask_mistake", dict.fromkeys("ABCD", ...)).text


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
