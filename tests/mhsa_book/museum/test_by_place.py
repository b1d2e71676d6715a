"""The share of right letters at each place is what reading gives, where writing is right."""

import pytest
import torch

from mhsa_book import museum
from mhsa_book.museum.by_place import written_by_place
from mhsa_book.museum.parts import RIGHT, Setting
from mhsa_book.museum.study import N_TEXTS, train
from mhsa_book.museum.task import SEQ, texts


@pytest.fixture(scope="module")
def reader():
    return train(RIGHT, Setting(), seed=0, n_steps=300)


@pytest.mark.parametrize("period", [3, 5])
def test_the_right_attention_writes_what_it_would_read(reader, period):
    # Without a cache: the whole text again for each letter, in which its own words stand.
    kind = {3: 1, 5: 2}[period]
    every = texts(torch.Generator().manual_seed(1000 + kind), 4 * N_TEXTS, SEQ + 1).ids
    wanted = torch.stack([ids for ids in every if ids[0] == kind][: N_TEXTS // 2])
    ids, expected = wanted[:, : period + 1], []
    while ids.shape[1] <= SEQ:
        with torch.no_grad():
            said = reader(ids)[0][:, -1].argmax(dim=-1)
        expected.append((said == wanted[:, ids.shape[1]]).double().mean().item())
        ids = torch.cat([ids, said[:, None]], dim=1)
    found = written_by_place(reader, period)
    assert found == pytest.approx(expected, abs=0.02)
    assert max(found) > 0.5


def test_a_bug_of_the_cache_spares_the_first_letter_and_not_the_rest(reader):
    before = written_by_place(reader, 3)
    try:
        reader.parts = museum.exhibit("keys_turned_again").all_parts
        after = written_by_place(reader, 3)
    finally:
        reader.parts = RIGHT
    assert after[0] == before[0]
    assert sum(after) < sum(before) - 1


def test_a_period_that_the_task_does_not_have_is_refused(reader):
    with pytest.raises(ValueError, match="period=4 is none"):
        written_by_place(reader, 4)
