"""Rankings against their definitions: slopes by hand, removals one by one, largest weights."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments.pruning import orders
from mhsa_book.experiments.pruning.roles import roles
from mhsa_book.experiments.translation import heads_of, nats, without
from mhsa_book.transformer import PAD, shifted
from mhsa_lib.tracing import edit, trace
from tests.mhsa_book.experiments.translation.small import PAIRS, model

MODEL = model()
HEADS = heads_of(MODEL)
SOURCE, TARGET = language.batch(PAIRS)
GIVEN, WANTED = shifted(TARGET)


def slope(head, sentence, token, step=1e-4):
    """How the summed loss changes with ξ, by which the z of one token is multiplied."""

    def loss(factor):
        def times(z):
            changed = z.clone()
            changed[sentence, head.head, token] *= factor
            return changed

        with edit(double.get_submodule(head.path), "z", times):
            return nats(double, PAIRS).sum().item()

    double = model().double()
    return (loss(1 + step) - loss(1 - step)) / (2 * step)


@pytest.mark.parametrize("path", ["encoder.1.self_attention", "decoder.0.cross_attention"])
def test_importance_is_the_mean_of_absolute_slopes_token_by_token(path):
    heads = [head for head in HEADS if head.path == path]
    ids = SOURCE if path.startswith("encoder") else WANTED
    real = (ids != PAD).nonzero().tolist()
    sums = [sum(abs(slope(head, *place)) for place in real) for head in heads]
    expected = torch.tensor(sums) / len(real)
    expected /= expected.square().sum().sqrt()
    found = orders.importance(MODEL, PAIRS)
    assert_close(torch.tensor([found[head] for head in heads]), expected, atol=1e-3, rtol=1e-3)


def test_importance_leaves_no_gradient_behind():
    orders.importance(MODEL, PAIRS)
    assert all(parameter.grad is None for parameter in MODEL.parameters())


def test_confidence_is_the_mean_largest_weight_of_real_tokens():
    found = orders.confidence(MODEL, PAIRS)
    for head in (HEADS[0], HEADS[5], HEADS[-1]):
        with trace(MODEL.get_submodule(head.path)) as wires:
            MODEL(SOURCE, GIVEN)
        ids = SOURCE if head.path.startswith("encoder") else WANTED
        largest = [
            max(wires["weights"][sentence, head.head, token].tolist())
            for sentence, token in (ids != PAD).nonzero().tolist()
        ]
        assert found[head] == pytest.approx(sum(largest) / len(largest), abs=1e-6)


def test_greedy_removal_takes_the_cheapest_head_at_every_step():
    order = orders.greedy(MODEL, PAIRS)
    assert sorted(order) == sorted(HEADS)
    gone = []
    for head in reversed(order[-4:]):
        costs = {}
        for other in set(HEADS) - set(gone):
            with without(MODEL, [*gone, other]):
                costs[other] = nats(MODEL, PAIRS).sum().item()
        assert costs[head] == min(costs.values())
        gone.append(head)


def test_greedy_removal_is_no_ranking_of_single_heads():
    """Otherwise the second step would need no look at what the first one left."""
    costs = {}
    for head in HEADS:
        with without(MODEL, [head]):
            costs[head] = nats(MODEL, PAIRS).sum().item()
    assert orders.best_first(costs) != orders.greedy(MODEL, PAIRS)


def test_chance_draws_every_head_once_and_another_order_for_another_seed():
    drawn = [orders.by_chance(MODEL, seed) for seed in range(5)]
    assert all(sorted(order) == sorted(HEADS) for order in drawn)
    assert len(set(drawn)) == 5


def test_the_best_stands_first():
    worth = dict(zip(HEADS, map(float, range(len(HEADS))), strict=True))
    assert orders.best_first(worth) == tuple(reversed(HEADS))


def test_a_role_is_held_by_the_head_whose_removal_costs_its_task_most():
    pairs = language.pairs(32, seed=5)
    found = roles(MODEL, pairs)
    assert [*found] == [*language.TASKS, "alignment"]
    where = language.places(pairs, "count")
    costs = {}
    for head in HEADS:
        with without(MODEL, [head]):
            costs[head] = nats(MODEL, pairs)[where].mean().item()
    assert found["count"] == max(costs, key=costs.get)
    assert found["alignment"].kind == "cross-attention"
