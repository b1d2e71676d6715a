"""Who may look at whom, as drawings: rows ask, columns are looked at, ■ may look."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.masks.drawing import picture
from mhsa_lib.masks.predicates import (
    causal,
    custom,
    documents,
    key_padding,
    padding,
    prefix,
    sliding_window,
)
from tests.helpers.drawn import rand

SIZE = st.integers(1, 6)


def test_causal_looks_at_itself_and_back():
    assert picture(causal, 4) == ["■···", "■■··", "■■■·", "■■■■"]


def test_fewer_queries_than_keys_are_the_last_positions():
    assert picture(causal, 2, 5) == ["■■■■·", "■■■■■"]
    assert picture(sliding_window(2), 2, 5) == ["··■■·", "···■■"]


def test_more_queries_than_keys_leave_the_first_with_nothing():
    assert picture(causal, 4, 2) == ["··", "··", "■·", "■■"]


def test_a_window_counts_the_token_itself():
    assert picture(sliding_window(1), 3) == ["■··", "·■·", "··■"]
    assert picture(sliding_window(2), 4) == ["■···", "■■··", "·■■·", "··■■"]
    assert picture(sliding_window(9), 4) == picture(causal, 4)


def test_a_prefix_is_seen_by_everyone():
    assert picture(prefix(1), 3) == picture(causal, 3)
    assert picture(prefix(2), 4) == ["■■··", "■■··", "■■■·", "■■■■"]
    assert picture(prefix(3), 3) == ["■■■"] * 3


def test_key_padding_forbids_keys_only():
    assert picture(key_padding([2]), 3) == ["■■·", "■■·", "■■·"]


def test_padding_forbids_padded_queries_too():
    assert picture(padding([2]), 3) == ["■■·", "■■·", "···"]


def test_every_sequence_has_its_own_length():
    assert picture(padding([3, 1, 0]), 3) == ["■■■  ■··  ···", "■■■  ···  ···", "■■■  ···  ···"]
    assert picture(key_padding([1, 2]), 1, 2) == ["■·  ■■"]


def test_a_custom_rule_gets_positions():
    assert picture(custom(lambda query, key: key == query + 1), 3) == ["·■·", "··■", "···"]


def test_masks_compose_with_and_or_not():
    assert picture(causal & ~sliding_window(2), 4) == ["····", "····", "■···", "■■··"]
    assert picture(sliding_window(2) | custom(lambda query, key: key == 0), 4) == [
        "■···",
        "■■··",
        "■■■·",
        "■·■■",
    ]
    assert picture(~causal, 3) == ["·■■", "··■", "···"]


def test_padding_composes_with_a_rule_without_a_batch():
    assert picture(causal & padding([3, 2]), 3) == ["■··  ■··", "■■·  ■■·", "■■■  ···"]


BUILDERS = {
    "causal": lambda lengths: causal,
    "window": lambda lengths: sliding_window(lengths[0]),
    "prefix": lambda lengths: prefix(lengths[0]),
    "padding": padding,
    "key_padding": key_padding,
    "documents": lambda lengths: documents([[i // n for i in range(12)] for n in lengths]),
}
KIND = st.sampled_from(sorted(BUILDERS))
LENGTHS = st.lists(SIZE, min_size=2, max_size=2)


@given(KIND, KIND, LENGTHS, LENGTHS, SIZE, SIZE)
def test_the_algebra_of_predicates_is_that_of_tensors(a, b, lengths, others, n_query, n_key):
    def dense(p):
        return p.dense(n_query, n_key)

    a, b = BUILDERS[a](lengths), BUILDERS[b](others)
    assert torch.equal(dense(a & b), dense(a) & dense(b))
    assert torch.equal(dense(a | b), dense(a) | dense(b))
    assert torch.equal(dense(~a), ~dense(a))
    assert torch.equal(dense(~(a & b)), dense(~a | ~b))


@given(KIND, LENGTHS, SIZE)
def test_the_last_query_of_a_mask_is_what_a_decoder_needs(kind, lengths, n):
    p = BUILDERS[kind](lengths)
    assert torch.equal(p.dense(1, n), p.dense(n, n)[..., -1:, :])


def test_a_predicate_answers_for_single_positions():
    assert causal(torch.tensor(5), torch.tensor(3))
    assert not causal(torch.tensor(3), torch.tensor(5))


def test_the_dense_mask_is_a_bool_tensor_with_batch_and_head_axes_if_the_rule_has_them():
    assert causal.dense(2, 5).shape == (2, 5)
    assert padding([3, 1]).dense(3, 3).shape == (2, 1, 3, 3)
    assert key_padding([3, 1]).dense(2, 3).shape == (2, 1, 2, 3)
    assert padding(torch.tensor([[3, 1]])).dense(3, 3).shape == (1, 2, 1, 3, 3)
    assert causal.dense(2, 5).dtype is torch.bool


def test_a_mask_is_made_on_the_device_that_is_asked_for():
    assert causal.dense(3, 3, device="meta").device.type == "meta"
    assert padding([1, 2]).dense(3, 3, device="meta").shape == (2, 1, 3, 3)


def test_a_predicate_says_what_it_is():
    named = causal & ~sliding_window(2) | padding([3, 1])
    assert repr(named) == "((causal & ~sliding_window(2)) | padding([3, 1]))"
    assert repr(custom(lambda query, key: query == key)) == "custom(lambda)"


def test_a_picture_prints_as_its_rows():
    assert str(picture(causal, 2)) == repr(picture(causal, 2)) == "■·\n■■"


def test_nothing_can_be_drawn_of_an_empty_sequence():
    assert picture(causal, 0) == []
    assert picture(causal, 2, 0) == ["", ""]


def test_true_means_may_look_for_us_and_blocked_for_torch():
    assert masks.to_torch(causal.dense(2, 2)).tolist() == [[False, True], [False, False]]
    assert torch.equal(masks.from_torch(masks.to_torch(causal.dense(3, 3))), causal.dense(3, 3))


def test_the_flipped_mask_is_what_nn_multiheadattention_expects():
    module, x = nn.MultiheadAttention(4, 2, batch_first=True).double(), rand(1, 3, 4)
    _, weights = module(x, x, x, attn_mask=masks.to_torch(causal.dense(3, 3)))
    assert ((weights[0] > 0) == causal.dense(3, 3)).all()


def test_an_additive_mask_is_zero_where_one_may_look():
    lowest = torch.finfo(torch.float32).min
    additive = torch.tensor([[0.0, float("-inf")], [-0.0, lowest]])
    assert masks.from_additive(additive).tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_lowest_number_depends_on_the_dtype(dtype):
    additive = torch.tensor([0.0, torch.finfo(dtype).min], dtype=dtype)
    assert masks.from_additive(additive).tolist() == [True, False]


@pytest.mark.parametrize("number", [1.0, -1e9, -10000.0, float("inf"), float("nan")])
def test_anything_else_in_an_additive_mask_is_refused(number):
    with pytest.raises(ValueError, match=r"holds 0 and -inf only, but .* is in it"):
        masks.from_additive(torch.tensor([0.0, number]))


def test_a_converted_additive_mask_gives_the_weights_of_the_added_one():
    scores, mask = rand(2, 3, 4, 4), causal.dense(4, 4)
    additive = torch.zeros(4, 4).masked_fill(~mask, float("-inf"))
    added = torch.softmax(scores + additive, dim=-1)
    filled = scores.masked_fill(~masks.from_additive(additive), float("-inf"))
    assert_close(added, torch.softmax(filled, dim=-1))


SCORES = (2, 3, 4, 5)
CPU = torch.device("cpu")


def test_resolving_gives_every_mask_the_axes_of_the_scores():
    assert masks.resolve(None, SCORES, CPU) is None
    assert masks.resolve(causal, SCORES, CPU).shape == (1, 1, 4, 5)
    assert masks.resolve(key_padding([1, 2]), SCORES, CPU).shape == (2, 1, 4, 5)
    assert masks.resolve(torch.ones(5).bool(), SCORES, CPU).shape == (1, 1, 1, 5)


def test_resolving_keeps_what_a_tensor_says():
    mask = torch.rand(4, 5) < 0.5
    assert torch.equal(masks.resolve(mask, SCORES, CPU)[0, 0], mask)
    assert torch.equal(masks.resolve(causal, SCORES, CPU)[0, 0], causal.dense(4, 5))
