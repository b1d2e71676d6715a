"""What heads rest on."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import measure
from mhsa_book.roles.reading import Reading
from mhsa_book.roles.sinks import KINDS, kind, shares


def test_every_token_is_of_one_kind_so_the_shares_sum_to_one(readings):
    found = shares(readings)
    assert tuple(found) == KINDS
    assert_close(sum(found.values()), torch.ones(6, 12))


def test_the_share_of_cls_is_the_weight_on_the_first_key(readings):
    first = torch.stack([measure.on_key(reading.weights, 0) for reading in readings])
    assert_close(shares(readings)["[CLS]"], first.mean(dim=0))


def test_columns_of_one_kind_are_added():
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).expand(1, 1, 4, 4)
    tokens = ["[CLS]", ",", ".", "[SEP]"]
    found = shares([Reading(tokens, weights, torch.zeros(2, 4))])
    assert_close(torch.stack([*found.values()]).flatten(), torch.tensor([0.1, 0.4, 0.5, 0.0]))


@pytest.mark.parametrize("token", ["'", "-", "…", "?"])
def test_marks_are_punctuation(token):
    assert kind(token) == "punctuation"


def test_no_sentence_is_refused():
    with pytest.raises(ValueError, match="readings is empty"):
        shares([])
