"""Several look-ups at once, and one of many signs: the tasks are what the chapter says."""

from itertools import groupby

import pytest
import torch

from mhsa_book.experiments import lookups, one_lookup
from mhsa_book.experiments.design import ANEW


def test_the_answer_in_a_slot_is_the_bit_of_the_symbol_that_it_names():
    tokens, answers = lookups.draw(torch.Generator().manual_seed(1), k=3)
    items, queries = tokens.split([lookups.SYMBOLS, lookups.QUERIES], dim=1)
    asked = queries[..., : 8 * 8].unflatten(-1, (8, 8))
    assert asked.sum(dim=-1).eq(1).all()
    held = items[..., 64:72]  # (batch, item, symbol)
    bits = (held.mT @ items[..., -2, None])[..., 0]  # of each symbol
    named = (asked[:, :, :3] * bits[:, None, None]).sum(dim=-1)
    assert answers.equal(((named + 1) / 2).long())
    assert answers.shape[-1] == 3
    assert set(items[..., -2].flatten().tolist()) == {-1.0, 1.0}
    assert queries[..., 64:-1].abs().sum() == 0  # a query names symbols and knows no bit


def test_more_slots_do_not_change_what_is_drawn():
    few, many = (lookups.draw(torch.Generator().manual_seed(2), k=k) for k in (2, 8))
    assert few[0].equal(many[0])
    assert few[1].equal(many[1][..., :2])


@pytest.mark.parametrize("rank", one_lookup.RANKS)
def test_a_query_has_the_code_of_one_item_and_asks_for_its_bit(rank):
    tokens, answers = one_lookup.draw(torch.Generator().manual_seed(1), rank)
    items, queries = tokens.split(16, dim=1)
    alike = queries[..., :16] @ items[..., 16:32].mT == rank
    assert alike.sum(dim=-1).eq(1).all()  # all codes of a sequence differ
    bits = (items[..., -2] + 1) / 2
    assert (alike.float() @ bits[..., None])[..., 0].equal(answers.float())
    assert answers.float().mean() == 0.5


@pytest.mark.parametrize("rank", one_lookup.RANKS)
def test_every_item_has_a_neighbour_with_the_other_bit(rank):
    tokens, _ = one_lookup.draw(torch.Generator().manual_seed(1), rank)
    items = tokens[:, :16]
    far = (rank - items[..., 16:32] @ items[..., 16:32].mT) / 2
    near = far == 1
    assert near.any(dim=-1).all()
    partner = torch.cat([torch.arange(8, 16), torch.arange(8)])
    assert near[:, torch.arange(16), partner].all()
    assert (items[..., -2] + items[:, partner, -2]).eq(0).all()


@pytest.mark.parametrize("module", [lookups, one_lookup])
def test_a_shared_width_is_equal_parameters(module):
    task = {lookups: "look-ups", one_lookup: "signs"}[module]
    settings = [arm.settings for arm in module.ARMS.values()]
    shared = [s for s in settings if s["n_heads"] * s["d_head"] == module.WIDTH]
    shared.sort(key=lambda s: s[task])
    for _, group in groupby(shared, key=lambda s: s[task]):
        sizes = [(s["n_heads"], s["parameters"]) for s in group]
        assert {n for n, _ in sizes} >= set(module.HEADS)
        assert len({size for _, size in sizes}) == 1


@pytest.mark.parametrize("module", [lookups, one_lookup])
def test_every_cell_is_an_arm_and_the_twin_differs_in_chance_alone(module):
    names = {module.name(*cell) for cell in module.CELLS}
    assert names == {*module.ARMS}
    arms = module.EXPERIMENT.arms
    assert {*arms} == names | {module.TWIN}
    assert arms[module.TWIN].anew == ANEW
