"""The task of the experiment: every question has one answer, and it is the one asked for."""

import pytest
import torch

from mhsa_book.experiments import grouped
from mhsa_book.experiments.grouped import FEATURES, N_RECORDS, VALUES


def features(record: int) -> list[int]:
    """The digits of a record, by hand."""
    return [record // VALUES**place % VALUES for place in range(FEATURES)]


def test_every_answer_is_the_next_feature_of_the_one_record_that_fits():
    ids, targets = grouped.draw(torch.Generator().manual_seed(3))
    for row, wanted in zip(ids.tolist(), targets.tolist(), strict=True):
        records = [features(record) for record in row[:VALUES]]
        assert wanted[:VALUES] == [-100] * VALUES
        assert sorted(row[VALUES:]) == [N_RECORDS + n for n in range(FEATURES * VALUES)]
        for question, answer in zip(row[VALUES:], wanted[VALUES:], strict=True):
            feature, value = divmod(question - N_RECORDS, VALUES)
            (found,) = (record for record in records if record[feature] == value)
            assert answer == found[(feature + 1) % FEATURES]


def test_a_question_says_nothing_of_its_answer():
    """Over many sequences every answer is equally frequent after every question."""
    generator, counts = torch.Generator().manual_seed(0), torch.zeros(FEATURES * VALUES, VALUES)
    for _ in range(40):
        ids, targets = grouped.draw(generator)
        pairs = (ids[:, VALUES:] - N_RECORDS).flatten(), targets[:, VALUES:].flatten()
        counts.index_put_(pairs, torch.tensor(1.0), accumulate=True)
    shares = counts / counts.sum(dim=-1, keepdim=True)
    assert (shares - 1 / VALUES).abs().max() < 0.05


@pytest.mark.parametrize("name", [*grouped.ARMS])
def test_an_arm_shares_keys_as_its_name_says(name):
    (attention,) = grouped.ARMS[name].build().attentions
    numbers = [int(word) for word in name.replace(",", "").split() if word.isdigit()]
    n_heads, d_head = numbers[0], numbers[-1]
    n_kv_heads = n_heads if len(numbers) == 2 else numbers[1]
    assert (attention.n_heads, attention.n_kv_heads, attention.d_head) == (
        n_heads,
        n_kv_heads,
        d_head,
    )
