"""The task of the experiment: five bits for every question, found under the right keys."""

import pytest
import torch

from mhsa_book.experiments.overlapped import EXPERIMENT, N_BITS, N_KEYS, draw


def test_every_answer_is_the_five_bits_from_the_asked_key_on():
    ids, targets = draw(torch.Generator().manual_seed(3), batch=5)
    for row, wanted in zip(ids.tolist(), targets.tolist(), strict=True):
        table = {token // 2: token % 2 for token in row[:N_KEYS]}
        assert sorted(table) == [*range(N_KEYS)]
        assert set(wanted[:N_KEYS]) == {-100}
        for token, answer in zip(row[N_KEYS:], wanted[N_KEYS:], strict=True):
            asked = token - 2 * N_KEYS
            bits = [table[(asked + step) % N_KEYS] for step in range(N_BITS)]
            assert answer == sum(bit << place for place, bit in enumerate(bits))


@pytest.mark.parametrize("name", [*EXPERIMENT.arms])
def test_an_arm_has_the_heads_of_its_name(name):
    (attention,) = EXPERIMENT.arms[name].build().attentions
    n_heads, d_head = (int(word.strip(",")) for word in name.split()[0:4:3])
    assert (attention.n_heads, attention.d_head) == (n_heads, d_head)
    assert getattr(attention, "overlap", 0) == int("overlap" in name)
