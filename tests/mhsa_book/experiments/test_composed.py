"""The task of the experiment: more pairs of a place and an attribute than heads."""

import pytest
import torch

from mhsa_book.experiments.composed import (
    ATTRIBUTES,
    EXPERIMENT,
    N_ITEMS,
    N_QUESTIONS,
    PAIRS,
    VALUES,
    draw,
)
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import Branch, Static


def test_every_answer_is_the_asked_attribute_of_the_item_that_many_places_back():
    ids, targets = draw(torch.Generator().manual_seed(3))
    for row, wanted in zip(ids.tolist(), targets.tolist(), strict=True):
        items, questions = row[::2], [token - N_ITEMS for token in row[1::2]]
        assert set(wanted[::2]) == {-100}
        for place, (question, answer) in enumerate(zip(questions, wanted[1::2], strict=True)):
            back, attribute = divmod(question, ATTRIBUTES)
            if back > place:
                assert answer == -100
                continue
            digits = [items[place - back] // VALUES**n % VALUES for n in range(ATTRIBUTES)]
            assert answer == N_ITEMS + N_QUESTIONS + digits[attribute]


def test_items_and_questions_alternate_and_all_of_them_occur():
    generator = torch.Generator().manual_seed(0)
    ids = torch.cat([draw(generator)[0] for _ in range(40)])
    assert ids.shape[1] == 2 * PAIRS
    assert sorted(set(ids[:, ::2].flatten().tolist())) == [*range(N_ITEMS)]
    questions = set((ids[:, 1::2] - N_ITEMS).flatten().tolist())
    assert sorted(questions) == [*range(N_QUESTIONS)]


@pytest.mark.parametrize("name", [*EXPERIMENT.arms])
def test_an_arm_has_the_heads_of_its_name(name):
    model = EXPERIMENT.arms[name].build()
    (attention,) = model.attentions
    n_heads, d_head = [int(word) for word in name.replace(",", "").split() if word.isdigit()]
    assert (attention.n_heads, attention.d_head) == (n_heads, d_head)
    assert isinstance(attention, ComposedAttention) == (not name.startswith("plain"))
    branches = [type(module) for module in attention.modules() if isinstance(module, Branch)]
    assert (set(branches) == {Static}) == name.startswith("talking")
    assert model.feed[0](torch.randn(1, 24)).any() == ("feed-forward" in name)
