"""Every number of heads for every number of questions: the task, the bound, what came out."""

from itertools import product

import pytest
import torch

from mhsa_book.experiments import enough_heads
from mhsa_book.experiments.enough_heads import BIT, HEADS, QUESTIONS
from mhsa_lib import trace

CELLS = [*product(HEADS, QUESTIONS)]


def test_the_questions_of_a_query_are_about_different_symbols_and_their_bits_are_asked():
    tokens, answers = enough_heads.draw(torch.Generator().manual_seed(1), k=4)
    items, queries = tokens.split([8, 16], dim=1)
    asked = queries[..., :64].unflatten(-1, (8, 8))  # (batch, query, slot, symbol)
    assert asked.sum(dim=-1).eq(1).all()
    assert asked.sum(dim=-2).eq(1).all()  # every symbol in one slot
    held = items[..., 64:72].argmax(dim=-1)
    assert held.equal(torch.arange(8).expand(16, 8))
    bits = items[..., BIT]
    named = torch.einsum("bqsy, by -> bqs", asked, bits)
    assert answers.equal(((named[..., :4] + 1) / 2).long())
    assert queries[..., 64:-1].abs().sum() == 0


def test_weights_do_not_depend_on_the_bits_and_values_do():
    torch.manual_seed(0)
    model = enough_heads.built(3, k=2)
    tokens, _ = enough_heads.draw(torch.Generator().manual_seed(1), k=2)
    turned = tokens.clone()
    turned[:, :8, BIT] *= -1
    seen = []
    for each in (tokens, turned):
        with trace(model.attention) as wires, torch.no_grad():
            model(each)
        seen.append({name: wires[name] for name in ("weights", "z")})
    assert seen[0]["weights"].equal(seen[1]["weights"])
    assert not torch.allclose(seen[0]["z"], seen[1]["z"])


def test_keys_stay_blind_while_they_are_trained():
    model = enough_heads.built(1, k=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    tokens, bits = enough_heads.draw(torch.Generator().manual_seed(1), k=1)
    before = model.attention.project.W_K.weight.clone()
    model(tokens)[..., 0, 0].mul(bits[..., 0]).sum().backward()
    optimizer.step()
    after = model.attention.project.W_K.weight
    assert not after.equal(before)
    assert after[:, BIT].abs().sum() == 0


@pytest.mark.parametrize(("n_heads", "k"), [(1, 2), (2, 3), (1, 3), (2, 4), (3, 3), (5, 2)])
def test_no_map_through_so_few_numbers_gives_back_more_signs(n_heads, k):
    """Many random maps through n_heads numbers, each with a constant, stay within the bound."""
    generator = torch.Generator().manual_seed(k)
    lists = torch.cartesian_prod(*[torch.tensor([1.0, -1.0])] * k)
    A = torch.randn(20_000, n_heads, k, generator=generator)
    R = torch.randn(20_000, k, n_heads, generator=generator)
    constant = torch.randn(20_000, 1, k, generator=generator)
    scores = lists @ (R @ A).mT + constant
    right = (scores * lists > 0).all(dim=-1).float().mean(dim=-1)
    assert right.max() <= enough_heads.most(n_heads, k)


def test_one_number_too_few_can_be_right_for_all_but_one_list():
    """Without their mean, bits that are all alike are lost; a constant saves one such list."""
    for k in (2, 3, 4, 5):
        lists = torch.cartesian_prod(*[torch.tensor([1.0, -1.0])] * k)
        B = torch.eye(k) - 1 / k
        assert torch.linalg.matrix_rank(B) == k - 1
        scores = lists @ B.T + 1e-3
        share = (scores * lists > 0).all(dim=1).float().mean().item()
        assert share == enough_heads.most(k - 1, k)


def test_an_answer_counts_only_with_all_others():
    _, bits = enough_heads.draw(torch.Generator().manual_seed(10_000), k=2)

    class SecondWrong(torch.nn.Module):
        def forward(self, _tokens):
            right = torch.nn.functional.one_hot(bits, 2).float()
            right[..., 1, :] = right[..., 1, :].flip(-1)
            return right

    def draw(generator):
        return enough_heads.draw(generator, k=2)

    assert enough_heads.all_right(SecondWrong(), draw, n_batches=1) == 0


def test_every_cell_is_an_arm_with_one_rate():
    arms = enough_heads.EXPERIMENT.arms
    assert {*arms} == {enough_heads.name(h, k) for h, k in CELLS} | {enough_heads.TWIN}
    assert enough_heads.EXPERIMENT.rates == (0.01,)
