"""What a caller can get wrong, and the words."""

import pytest
import torch

from mhsa_book.transformer import (
    BOS,
    DecoderLayer,
    EncoderDecoder,
    EncoderLayer,
    FeedForward,
    greedy,
    loss,
    not_padding,
    padded,
    remembering,
    shifted,
)
from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from tests.mhsa_book.transformer.small import given, small, sources

pytestmark = pytest.mark.bothways


def test_parts_of_different_widths():
    words = r"self_attention.d_model=12, feed_forward.d_model=8; all parts of a layer read and"
    with pytest.raises(ValueError, match=words):
        EncoderLayer(MultiHeadAttention(12, 3), FeedForward(8, 20))
    with pytest.raises(ValueError, match=r"cross_attention.d_model=8, feed_forward.d_model=12"):
        DecoderLayer(MultiHeadAttention(12, 3), MultiHeadAttention(8, 2), FeedForward(12, 20))
    with pytest.raises(ValueError, match=r"feed_forward.d_model=None; all parts"):
        EncoderLayer(MultiHeadAttention(12, 3), torch.nn.Identity())


@pytest.mark.parametrize("size", ["d_hidden", "n_layers"])
def test_sizes_below_one(size):
    with pytest.raises(ValueError, match=f"{size}=0 is not a size; it must be at least 1"):
        small(**{size: 0})


def test_tables_without_a_row():
    with pytest.raises(ValueError, match="n_tokens=0 is not a size"):
        EncoderDecoder(0, 9, 8)
    with pytest.raises(ValueError, match="n_positions=0 is not a size"):
        EncoderDecoder(9, 9, 0)


def test_tokens_of_another_width():
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(5, 8\), but d_model=12"):
        FeedForward(12, 20)(torch.zeros(5, 8))


def test_a_sentence_longer_than_the_positions():
    long = torch.full((1, 9), 3)
    with pytest.raises(ValueError, match="source reaches token 9, but n_positions=8; shorten"):
        small()(long, given()[:1])
    long[0, 0] = BOS
    with pytest.raises(ValueError, match="target reaches token 9, but n_positions=8; shorten"):
        small()(sources()[:1], long)


def test_a_target_without_its_begin():
    words = (
        r"the target begins with \[1, 8, 1\]; what a decoder is given begins with BOS=1: tra"
    )
    target = given()
    target[1, 0] = 8
    with pytest.raises(ValueError, match=words):
        small()(sources(), target)


def test_ids_that_are_no_whole_numbers():
    with pytest.raises(
        TypeError, match=r"source has dtype torch.float64; ids are whole numbers"
    ):
        small()(sources().double(), given())
    with pytest.raises(
        TypeError, match=r"target has dtype torch.bool; .* call target.long\(\)"
    ):
        small()(sources(), given().bool())


@pytest.mark.nohook  # the hook speaks first: a list is no torch.Tensor
def test_ids_that_are_no_tensor():
    with pytest.raises(
        TypeError, match=r"source is a list; pass a tensor of ids, torch.tensor"
    ):
        small().encode([[5, 3]])


def test_ids_that_are_in_no_table():
    with pytest.raises(
        ValueError, match="source holds the id 11, but n_tokens=11; ids are 0 to"
    ):
        small()(sources() + (sources() == 10), given())
    with pytest.raises(
        ValueError, match="target holds the id -1, but n_tokens=9; ids are 0 to 8"
    ):
        small()(sources(), given() - 1)


def test_sentences_without_tokens():
    with pytest.raises(ValueError, match=r"source has shape \(1, 0\); a sentence has at least"):
        small()(sources()[:1, :0], given()[:1])
    with pytest.raises(ValueError, match=r"sentences of lengths \[2, 0\]; give at least one"):
        padded([[3, 4], []])
    with pytest.raises(ValueError, match=r"sentences of lengths \[\]; give at least one"):
        padded([])


def test_padding_that_does_not_come_last():
    with pytest.raises(
        ValueError, match=r"a word comes after PAD=0 in ids \[\[5, 0, 3\]\]; pad"
    ):
        not_padding(torch.tensor([[5, 0, 3]]))
    with pytest.raises(
        ValueError, match=r"one sentence \[5, 0\] is padded; leave PAD=0 out, or"
    ):
        not_padding(torch.tensor([5, 0]))
    with pytest.raises(ValueError, match=r"a sentence holds PAD=0; leave padding to this"):
        padded([[5, 0, 3]])


def test_a_source_and_a_target_of_different_batches():
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(3,\)"):
        small()(sources(), given()[:2])


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ([5, 3], r"the target \[5, 3\] does not end with EOS=2; put it behind the words"),
        ([[5, 2], [3, 4]], r"the target \[3, 4\] does not end with EOS=2"),
        ([[5, 2], [0, 0]], r"the target \[0, 0\] does not end with EOS=2"),
        ([1, 5, 2], r"the target \[1, 5, 2\] begins with BOS=1; leave it out, shifted puts it"),
    ],
)
def test_a_target_that_cannot_be_shifted(target, words):
    with pytest.raises(ValueError, match=words):
        shifted(torch.tensor(target))


def test_a_loss_over_nothing():
    with pytest.raises(ValueError, match="all wanted ids are PAD=0, so nothing is asked for"):
        loss(torch.zeros(1, 2, 9), torch.zeros(1, 2, dtype=torch.long))


def test_a_source_that_is_no_batch():
    with pytest.raises(
        ValueError, match=r"source has shape \(5,\); pass at least one sentence"
    ):
        greedy(small(), sources()[0])
    with pytest.raises(ValueError, match=r"source has shape \(0, 5\); pass at least one"):
        greedy(small(), sources()[:0])


def test_a_step_that_leaves_words_out():
    with remembering(small(), sources()) as next_word:
        next_word(given()[:, :1])
        words = "1 words are remembered, but 3 came; give one more than before, or open another"
        with pytest.raises(ValueError, match=words):
            next_word(given()[:, :3])


def test_a_fused_attention_shows_nothing_to_remember():
    words = (
        r"holds no stages of mhsa_lib; to_attention\(\) of a fused one and mhsa_lib\.convert"
    )
    with pytest.raises(ValueError, match=words):
        greedy(small(attention=FusedMultiHeadAttention), sources())
