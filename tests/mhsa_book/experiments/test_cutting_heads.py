"""What is stored of the language model with heads cut out comes out again, another way."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

from mhsa_book import models
from mhsa_book.experiments import cutting_heads as cutting
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.results import cutting_heads as results
from mhsa_book.results.cutting_heads import (
    ALONE,
    ALONE_MEAN,
    CUTS,
    GRADIENT,
    GRADIENT_BY_LAYER,
    GROUPS,
    LENGTH,
    RANDOM,
    RANDOM_GROUPS,
    RANDOM_MEAN,
    SIZES,
    Found,
)
from tests.helpers.history import words_at

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes

STORED = results.kept()
PART = [
    (ALONE, 54, 0),
    (RANDOM[1], 9, 5),
    (GROUPS, 27, 11),
    (LENGTH, 9, 7),
    (RANDOM_GROUPS[2], 135, 2),
    (ALONE_MEAN, 81, 9),
]
"""Orders, heads cut, and the text that is measured again."""


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


# --- before the run --------------------------------------------------------------------------


def test_predictions_are_in_the_commit_that_is_named():
    words = words_at(STORED.predictions_commit, Path(cutting.__file__))
    assert STORED.predictions == cutting.PREDICTIONS
    for prediction in cutting.PREDICTIONS:
        assert all(part in words for part in prediction.split(", "))


def test_no_text_that_is_measured_makes_an_order(lm):
    choosing, measured = cutting.halves(lm, STORED.answers)
    assert [len(choosing), len(measured)] == [6, 12]
    told = [tuple(text.ids[text.first :]) for text in (*choosing, *measured)]
    assert len({*told}) == 18
    assert all(len(text.ids) == cutting.N_TOKENS for text in (*choosing[:4], *measured[:8]))
    for text in (*choosing[4:], *measured[8:]):
        assert lm.text(text.ids[: text.first]).endswith("assistant\n")
        assert 20 < len(text.ids) <= cutting.N_TOKENS
    prompts, names = cutting.prompts()
    assert len({len(lm.ids(prompt)) for prompt in prompts}) == 1
    assert len({*prompts}) == 20
    assert {name for pair in names for name in pair} <= {*drink.HELD_OUT}
    first = [
        prompt.split()[1] == right for prompt, (right, _) in zip(prompts, names, strict=True)
    ]
    assert sum(first) == 10  # the right name is first as often as second


def test_every_order_has_every_head_once_and_groups_stay_together():
    every = {(layer, head) for layer in range(30) for head in range(9)}
    for name, order in STORED.orders.items():
        assert len(order) == 270, name
        assert {(layer, head) for layer, head in order} == every, name
    for name in (*RANDOM_GROUPS, GROUPS):
        order = STORED.orders[name]
        for i in range(0, 270, 3):
            assert len({(layer, head // 3) for layer, head in order[i : i + 3]}) == 1, name
    again = cutting.orders(STORED.alone, STORED.scores)
    assert STORED.orders == {name: [[*head] for head in order] for name, order in again.items()}
    assert len({str(STORED.orders[name]) for name in RANDOM}) == 4


def test_orders_are_by_what_they_say():
    cost = {name: fmean(costs) for name, costs in STORED.alone.items()}
    in_order = [round(cost[results.name(head)], 9) for head in STORED.orders[ALONE]]
    assert in_order == sorted(in_order)
    for way in (GRADIENT, GRADIENT_BY_LAYER, LENGTH):
        scores = [STORED.scores[way][9 * i + j] for i, j in STORED.orders[way]]
        assert scores == sorted(scores), way
    normed = torch.tensor(STORED.scores[GRADIENT_BY_LAYER]).view(30, 9)
    torch.testing.assert_close(normed.norm(dim=1), torch.ones(30), atol=1e-4, rtol=0)
    assert STORED.orders[RANDOM_MEAN] == STORED.orders[RANDOM[0]]
    assert STORED.orders[ALONE_MEAN] == STORED.orders[ALONE]


# --- what is stored --------------------------------------------------------------------------


def test_it_is_of_the_file_that_is_loaded():
    assert STORED.model == SHA256
    assert len(STORED.alone) == 270
    assert {len(costs) for costs in STORED.alone.values()} == {6}
    assert STORED.texts.keys() == STORED.drink.keys() == STORED.orders.keys()
    for name in STORED.orders:
        assert [len(losses) for losses in STORED.texts[name]] == [12] * len(SIZES)
        assert [len(chances) for chances in STORED.drink[name]] == [20] * len(SIZES)
        assert STORED.texts[name][0] == STORED.texts[ALONE][0]  # nothing is cut


@pytest.mark.parametrize(("way", "n", "at"), PART)
def test_a_part_comes_out_again_one_text_at_a_time(lm, way, n, at):
    assert cutting.again(lm, STORED, way, n, at) < 2e-3


def test_a_number_that_is_not_what_comes_out_is_noticed(lm):
    other = json.loads(json.dumps(STORED.texts))
    other[ALONE][2][0] += 0.01
    assert cutting.again(lm, replace(STORED, texts=other), ALONE, CUTS[1], 0) > 5e-3


@torch.no_grad()
def test_a_head_is_cut_by_emptying_its_part_of_the_output_map(lm):
    """Another way to be without a head: no wire is edited, and nothing is batched."""
    choosing, _ = cutting.halves(lm, STORED.answers)
    text = choosing[2]

    def loss():
        chances = lm.logits(lm.text(text.ids))[:-1].log_softmax(dim=-1)
        wanted = torch.tensor(text.ids[1:])
        return -chances.gather(1, wanted[:, None]).mean().item()

    whole = loss()
    for layer, head in ((0, 3), (7, 2), (16, 0), (29, 8)):
        W = lm.attention(layer).W_O.weight
        kept, part = W.detach().clone(), slice(head * lm.d_head, (head + 1) * lm.d_head)
        W[:, part] = 0
        changed = loss() - whole
        W.copy_(kept)
        assert changed == pytest.approx(STORED.alone[f"L{layer}H{head}"][2], abs=2e-3)


def test_leads_on_prompts_come_out_again(lm):
    texts, names = cutting.prompts()
    for way, n, at in ((ALONE, 27, 3), (RANDOM[2], 9, 12)):
        with lm.without([tuple(head) for head in STORED.orders[way][:n]]):
            chances = lm.logits(texts[at])[-1].log_softmax(dim=-1)
        found = [chances[lm.id(f" {name}")].item() for name in names[at]]
        assert found == pytest.approx(STORED.drink[way][SIZES.index(n)][at], abs=3e-3)


def test_the_gradient_is_a_small_step_at_every_token(lm):
    """By differences: the z of one head at one token a little larger, for every token."""
    text = cutting.Text(lm.ids("The tired old gardener watered the roses."), 1)
    found = cutting.by_gradient(lm, [text])
    sample = cutting.Sample(lm, [text])
    for layer, head in ((2, 4), (20, 0)):
        steps = []
        for token in range(len(text.ids)):
            both = [_nats(sample, layer, head, token, factor) for factor in (0.97, 1.03)]
            steps.append(abs(both[1] - both[0]) / 0.06)
        assert fmean(steps) == pytest.approx(found[layer, head].item(), rel=0.05, abs=2e-3)


@torch.no_grad()
def _nats(sample, layer, head, token, factor):
    from mhsa_lib.tracing import edit

    def larger(z):
        changed = z.clone()
        changed[:, head, token] *= factor
        return changed

    with edit(sample.layers[layer].attention, "z", larger):
        x = sample.decoder.embed(sample.ids)
        for each in sample.layers:
            x = each(x)
    return sample.nats(sample.decoder.unembed(x[:, :-1]).double()).sum().item()


@torch.no_grad()
def test_a_length_is_that_of_what_a_head_writes(lm):
    choosing, _ = cutting.halves(lm, STORED.answers)
    rows = [
        lm.heads(lm.text(text.ids))[5, 4] @ lm.attention(5).W_O.weight[:, 256:320].T
        for text in choosing
    ]
    expected = torch.cat(rows).norm(dim=1).mean().item()
    assert STORED.scores[LENGTH][5 * 9 + 4] == pytest.approx(expected, rel=1e-3)


# --- what is said of it ----------------------------------------------------------------------


def test_shares_and_means_follow_from_the_numbers_of_the_texts():
    for way in STORED.orders:
        for i, n in enumerate(SIZES):
            lost = [
                a - b for a, b in zip(STORED.texts[way][i], STORED.texts[way][0], strict=True)
            ]
            interval = STORED.lost(way, n)
            assert interval.mean == pytest.approx(fmean(lost))
            assert interval.low <= interval.mean <= interval.high
            kinds = [STORED.lost(way, n, kind).mean for kind in results.KINDS]
            assert kinds == pytest.approx([fmean(lost[j : j + 4]) for j in (0, 4, 8)])
            share = fmean(right > wrong for right, wrong in STORED.drink[way][i])
            assert STORED.leads(way, n).mean == pytest.approx(share)
            apart = STORED.lost(way, n).mean - STORED.lost(ALONE, n).mean
            assert STORED.lost_between(way, ALONE, n).mean == pytest.approx(apart, abs=1e-6)


def made_up(lost, n_right=20, cost=0.0):
    """Runs in which an order loses what ``lost(way, n)`` says, on every text."""
    texts = {way: [[lost(way, n)] * 12 for n in SIZES] for way in STORED.orders}
    right = [[-0.5, -2.0]] * n_right + [[-2.0, -0.5]] * (20 - n_right)
    gifts = {way: [[[-0.5, -2.0]] * 20] + [right] * len(CUTS) for way in STORED.orders}
    alone = dict.fromkeys(STORED.alone, [cost] * 6)
    return replace(STORED, texts=texts, drink=gifts, alone=alone)


RATES = dict.fromkeys(STORED.orders, 0.02) | {
    ALONE: 0.002,
    GRADIENT_BY_LAYER: 0.03,
    LENGTH: 0.01,
    ALONE_MEAN: 0.001,
    RANDOM_MEAN: 0.01,
    RANDOM[3]: 0.03,
}


@pytest.mark.parametrize(
    ("rates", "n_right", "cost", "came_true"),
    [
        (RATES, 10, 0.0, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
        (RATES, 10, 0.03, {2, 3, 4, 5, 7, 8, 9}),
        (RATES | {ALONE: 0.02}, 10, 0.0, {1, 4, 5, 6, 7, 8, 9}),
        (RATES | {LENGTH: 0.025}, 10, 0.0, {1, 2, 3, 5, 6, 7, 8, 9}),
        (RATES | {GRADIENT_BY_LAYER: 0.01}, 10, 0.0, {1, 2, 3, 4, 6, 7, 8, 9}),
        (RATES | {RANDOM_GROUPS[0]: 0.09}, 10, 0.0, {1, 2, 3, 4, 5, 6, 8, 9}),
        (RATES | {ALONE_MEAN: 0.003}, 10, 0.0, {1, 2, 3, 4, 5, 6, 7, 9}),
        (RATES | {ALONE: 0.06}, 10, 0.0, {1, 4, 5, 6, 7, 8}),
    ],
)
def test_verdicts_are_read_off_the_numbers(rates, n_right, cost, came_true):
    said = cutting.verdicts(made_up(lambda way, n: rates[way] * n, n_right, cost))
    assert {i for i, true in enumerate(said, 1) if true} == came_true


def test_what_is_stored_is_read_whole_or_refused(tmp_path):
    file = tmp_path / "a.json"
    results.save(STORED, file)
    assert results.kept(file) == STORED
    assert isinstance(results.kept(file), Found)
    assert file.read_text(encoding="utf-8") == results.FILE.read_text(encoding="utf-8")
    file.write_text(
        file.read_text(encoding="utf-8").replace('"date"', '"day"'), encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"unknown are \['day'\], missing \['date'\]"):
        results.kept(file)
    with pytest.raises(FileNotFoundError, match=r"run `python -m mhsa_book\.experiments"):
        results.kept(tmp_path / "none.json")
    with pytest.raises(ValueError, match="300,000 is the limit"):
        results.save(replace(STORED, machine={"cpu": "x" * 300_000}), file)
