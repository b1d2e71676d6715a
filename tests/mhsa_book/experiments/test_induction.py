"""The arms spend the same on depth or on heads; smeared keys are the one way to the note."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.experiments.induction import ARMS, EXPERIMENT, SMEARED, SmearedSplit, draw
from mhsa_book.models.repeater import START
from mhsa_lib import trace

PLAIN = [name for name in ARMS if name != SMEARED]


def test_what_is_asked_is_the_next_token_and_it_can_be_looked_up():
    ids, targets = draw(torch.Generator().manual_seed(3), batch=50)
    asked = targets != -100
    assert 0.3 < asked.float().mean() < 0.9
    for row, wanted in zip(ids.tolist(), targets.tolist(), strict=True):
        assert row[0] == START
        for place, token in enumerate(wanted):
            if token == -100:
                continue
            assert place + 1 == len(row) or row[place + 1] == token
            after = [row[i + 1] for i in range(1, place) if row[i] == row[place]]
            assert token in after


@pytest.mark.parametrize("name", [*EXPERIMENT.arms])
def test_an_arm_has_the_layers_and_heads_of_its_name(name):
    model = EXPERIMENT.arms[name].build()
    n_layers, _, _, n_heads = name.split()[:4]
    assert model.n_layers == len(model.layers) == int(n_layers)
    assert [layer.n_heads for layer in model.layers] == [int(n_heads)] * int(n_layers)
    smeared = [isinstance(layer.split, SmearedSplit) for layer in model.layers]
    assert any(smeared) == ("smeared" in name)


@pytest.mark.parametrize("name", [*EXPERIMENT.arms])
def test_all_spend_the_same_but_for_a_number_a_head_of_smeared_keys(name):
    first, arm = next(iter(ARMS.values())).settings, EXPERIMENT.arms[name].settings
    flops = "attention FLOPs of a sequence"
    assert arm[flops] == first[flops]
    assert arm["parameters"] - first["parameters"] == 8 * ("smeared" in name)


@pytest.mark.parametrize("name", [*ARMS])
def test_the_token_before_a_key_moves_its_first_score_only_where_keys_are_smeared(name):
    model = ARMS[name].build()
    ids = torch.tensor([[START, 1, 2, 3, 4, 1, 2]])
    scores = []
    for before in (2, 9):
        ids[0, 2] = before
        with torch.no_grad(), trace(model.layers[0]) as wires:
            model(ids)
        scores.append(wires["scores"][0, :, -1, 3])
    assert torch.equal(*scores) == (name in PLAIN)


def test_smearing_mixes_each_key_with_the_one_before_and_nothing_else():
    split = SmearedSplit(2)
    with torch.no_grad():
        split.own.copy_(torch.tensor([0.0, 3.0])[:, None, None])
    q, k, v = torch.randn(3, 2, 5, 6)
    q_heads, k_heads, v_heads = split(q, k, v)
    plain = [part.unflatten(-1, (2, 3)).transpose(-2, -3) for part in (q, k, v)]
    assert_close(q_heads, plain[0])
    assert_close(v_heads, plain[2])
    for head, share in enumerate((0.5, 1 / (1 + torch.tensor(-3.0).exp()))):
        keys = plain[1][:, head]
        assert_close(k_heads[:, head, 0], keys[:, 0])
        assert_close(k_heads[:, head, 1:], share * keys[:, 1:] + (1 - share) * keys[:, :-1])


def test_smeared_keys_do_not_look_ahead():
    model = ARMS[SMEARED].build()
    ids = torch.randint(37, (1, 12))
    logits = model(ids)
    ids[0, 7:] = 5
    assert_close(model(ids)[:, :7], logits[:, :7])
