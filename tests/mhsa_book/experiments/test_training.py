"""The small model and its training loop: right counts, right masks, the same run every time."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.experiments.training import Layers, accuracy, fit, n_parameters
from mhsa_lib import MultiHeadAttention, masks
from mhsa_lib.variants import GroupedQueryAttention


def copy_first(generator):
    """Eight sequences of four tokens; every token is to say what the first one was."""
    ids = torch.randint(5, (8, 4), generator=generator)
    return ids, ids[:, :1].expand(8, 4)


def small(**options):
    torch.manual_seed(0)
    return Layers([MultiHeadAttention(12, 3)], n_tokens=5, n_positions=4, **options)


# --- the model -------------------------------------------------------------------------------


def test_one_layer_is_embedding_attention_residual_norm_and_scores():
    model, ids = small(), torch.tensor([[3, 1, 4]])
    stream = model.tokens.weight[ids] + model.positions.weight[:3]
    stream = stream + model.attentions[0](model.norms[0](stream), mask=masks.causal)
    assert_close(model(ids), model.scores(model.last(stream)))


def test_the_feed_forward_part_is_added_to_the_stream():
    model, ids = small(d_hidden=7), torch.tensor([[3, 1, 4]])
    stream = model.tokens.weight[ids] + model.positions.weight[:3]
    stream = stream + model.attentions[0](model.norms[0](stream), mask=masks.causal)
    assert_close(model(ids), model.scores(model.last(stream + model.feed[0](stream))))
    assert n_parameters(model) - n_parameters(small()) == 12 * 7 + 7 + 7 * 12 + 12 + 2 * 12


def test_the_mask_holds_in_every_layer():
    attentions = [MultiHeadAttention(12, 3), GroupedQueryAttention(12, 6, 2)]
    ids, other = torch.tensor([[3, 1, 4, 1]]), torch.tensor([[3, 1, 0, 0]])
    causal = Layers(attentions, 5, 4)
    assert_close(causal(ids)[:, :2], causal(other)[:, :2])
    both = Layers(attentions, 5, 4, mask=None)
    assert not torch.allclose(both(ids)[:, :2], both(other)[:, :2])


def test_two_models_differ_in_their_attention_alone():
    plain, variant = (
        Layers([attention], 5, 4)
        for attention in (MultiHeadAttention(12, 6), GroupedQueryAttention(12, 6, 2))
    )
    rest = [
        {name: value.shape for name, value in model.named_parameters() if "attent" not in name}
        for model in (plain, variant)
    ]
    assert rest[0] == rest[1]
    assert n_parameters(plain) - n_parameters(variant) == 2 * (12 - 4) * 12


def test_parameters_are_counted_once():
    assert n_parameters(nn.Linear(3, 4)) == 16
    shared = nn.Linear(3, 3)
    assert n_parameters(nn.Sequential(shared, shared)) == 12


# --- training --------------------------------------------------------------------------------


def test_it_learns_what_can_be_learned_and_not_what_cannot():
    model = small()
    losses = fit(model, copy_first, 300, seed=0, learning_rate=0.01)
    assert len(losses) == 300
    assert abs(losses[0] - math.log(5)) < 0.6
    assert losses[-1] < 0.05
    assert accuracy(model, copy_first) > 0.95
    blind = small(mask=masks.custom(lambda query, key: query == key))
    fit(blind, copy_first, 300, seed=0, learning_rate=0.01)
    assert 0.25 < accuracy(blind, copy_first) < 0.6  # it knows the first token, at the first


def test_the_same_seed_gives_the_same_losses_and_another_seed_others():
    runs = [fit(small(), copy_first, 5, seed=seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_batches_do_not_depend_on_the_model():
    seen = []

    def draw(generator):
        seen.append(torch.randint(5, (2, 4), generator=generator))
        return seen[-1], seen[-1]

    dropping = Layers([MultiHeadAttention(12, 3, dropout=0.5)], 5, 4)
    fit(small(), draw, 3, seed=7)
    fit(dropping, draw, 3, seed=7)
    assert all(torch.equal(a, b) for a, b in zip(seen[:3], seen[3:], strict=True))


def test_training_mode_while_it_trains_and_evaluation_after():
    model, modes = small(), []

    def draw(generator):
        modes.append(model.training)
        return copy_first(generator)

    fit(model.eval(), draw, 2, seed=0)
    assert modes == [True, True]
    assert not model.training


def test_an_extra_loss_is_minimised_and_not_reported():
    model = small()
    weight = model.attentions[0].W_O.weight
    losses = fit(model, copy_first, 100, seed=0, extra=lambda: 10 * weight.square().sum())
    other = small()
    plain = fit(other, copy_first, 100, seed=0)
    assert weight.norm() < other.attentions[0].W_O.weight.norm() / 3
    assert losses[0] == plain[0]


def test_targets_of_minus_100_are_not_asked_for():
    def last_only(generator):
        ids, targets = copy_first(generator)
        return ids, torch.cat([torch.full((8, 3), -100), targets[:, 3:]], dim=1)

    model = small()
    fit(model, last_only, 300, seed=0, learning_rate=0.01)
    assert accuracy(model, last_only) > 0.95


def test_accuracy_is_the_share_of_asked_targets_on_other_batches():
    class Says(nn.Module):
        def forward(self, ids):
            return nn.functional.one_hot(ids, 5).float()

    def draw(generator):
        ids = torch.randint(4, (2, 4), generator=generator)
        targets = ids.clone()
        targets[0, 0], targets[0, 1:], targets[1, 0] = 4, -100, -100
        return ids, targets

    assert accuracy(Says(), draw) == 0.75  # of four asked, the first of the first is wrong
    assert accuracy(Says(), draw, n_batches=1) == 0.75


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize("widths", [[], [12, 24]])
def test_attentions_of_no_or_of_two_widths_are_refused(widths):
    words = rf"the attentions have d_model \{widths}; give at least one, all of one width"
    with pytest.raises(ValueError, match=words):
        Layers([MultiHeadAttention(width, 3) for width in widths], 5, 4)


@pytest.mark.bothways
def test_a_sequence_longer_than_the_positions_is_refused():
    with pytest.raises(ValueError, match="5 tokens do not fit n_positions=4; build the model"):
        small()(torch.zeros(2, 5, dtype=torch.long))


@pytest.mark.bothways
def test_nothing_asked_is_refused():
    def nothing(generator):
        return torch.zeros(1, 4, dtype=torch.long), torch.full((1, 4), -100)

    with pytest.raises(ValueError, match="every target is -100, so nothing is asked for"):
        accuracy(small(), nothing)
