"""What is stored of the heads that name Mary comes out again, another way."""

from pathlib import Path

import pytest
import torch

from mhsa_book import models
from mhsa_book.experiments import telling
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.experiments import whose_heads_checked as checked
from mhsa_book.experiments import whose_heads_name_mary as mary
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.results import whose_heads_name_mary as results
from tests.helpers.history import words_at

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes

STORED = pytest.mark.skipif(not results.FILE.is_file(), reason="the run is not stored yet")


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.fixture(scope="module")
def group(lm):
    return mary.Group(lm, mary.pairs_of("station")[:2])


# --- before the run --------------------------------------------------------------------------


@STORED
def test_predictions_are_in_the_commit_that_is_named():
    found = results.kept()
    words = words_at(found.predictions_commit, Path(mary.__file__))
    assert found.predictions == mary.PREDICTIONS
    assert found.model == SHA256
    for prediction in mary.PREDICTIONS:
        assert all(part in words for part in prediction.split(", "))


def test_the_names_that_report_chose_nothing():
    for template in mary.TEMPLATES:
        names = {each for _, pair, third in mary.pairs_of(template) for each in (*pair, third)}
        assert not names & {*drink.PAGE_NAMES, *drink.FIRST_PAGE}
    for group in (mary.CHOOSING, *mary.TEMPLATES):
        pairs = [pair for _, pair, _ in mary.pairs_of(group)]
        assert sorted(right for right, _ in pairs) == sorted(wrong for _, wrong in pairs)
        assert all(third not in pair for _, pair, third in mary.pairs_of(group))


def test_heads_that_are_drawn_are_others_of_the_same_layers():
    order = [(23, 3), (20, 0), (23, 0)]
    for heads in mary.drawn_orders(order, mary.named()):
        assert [layer for layer, _ in heads] == [layer for layer, _ in order]
        assert len({*heads}) == 3
        assert not {*heads} & {*mary.named()}


# --- how it is measured ----------------------------------------------------------------------


def test_texts_of_two_lengths_are_refused(lm):
    with pytest.raises(ValueError, match="texts of one length"):
        telling.read(lm, ["one two", "one two three"])


def test_weights_are_those_of_the_model(lm, group):
    _, weights = lm.attend(group.texts[1])
    for position in (-1, group.second):
        ours = group.weights(position)[1]
        assert torch.allclose(ours, weights[:, :, position], atol=1e-4)


def test_direct_contributions_are_those_of_the_model(lm, group):
    right, wrong = (lm.contributions(group.texts[0], f" {n}").heads for n in group.pairs[0])
    assert torch.allclose(group.telling.direct()[0], right - wrong, atol=1e-3)


def test_a_path_to_the_logits_is_that_of_the_model(lm, group):
    _, pair, third = mary.pairs_of("station")[0]
    source = drink.prompt("station", pair, third)
    ids = [lm.id(f" {each}") for each in pair]
    for sender in ((8, 1), (20, 0), (23, 3)):
        patched = lm.patch(source, group.texts[0], sender, "logits")
        row = group.telling.told(sender, -1)[30]
        ours = group.telling.ahead(row)[0]
        assert abs(ours - (patched[ids[0]] - patched[ids[1]])) < 1e-2


@pytest.mark.parametrize(
    ("sender", "receiver", "part"),
    [((20, 0), (23, 0), "q"), ((17, 4), (20, 0), "v"), ((8, 1), (20, 0), "k")],
)
def test_what_one_head_tells_another_comes_out_by_edits_too(lm, group, sender, receiver, part):
    _, pair, third = mary.pairs_of("station")[0]
    source = drink.prompt("station", pair, third)
    at = -1 if part == "q" else group.second
    row = group.telling.told(sender, at, last=receiver[0])[receiver[0]]
    heard = group.telling.heard(receiver, part, row, at)
    ours = group.telling.answer(receiver, heard)[0]
    logits = checked.told_slowly(lm, source, group.texts[0], sender, receiver, part, at)[-1]
    right, wrong = (logits[lm.id(f" {each}")] for each in pair)
    assert abs(ours - (right - wrong)) < 1e-2
    assert abs(ours - group.lead[0]) > 1e-3, "nothing was told"


# --- what came out ---------------------------------------------------------------------------


@STORED
@pytest.mark.slow  # lab note 3 measures another prompt again
def test_some_of_the_numbers_come_out_again(lm):
    assert checked.again(lm, results.kept(), "store", ["L8H1", "L24H4"], at=3) < 0.02


@STORED
def test_the_heads_that_are_named_are_those_that_the_choosing_sentences_show():
    seen = results.kept().watched[mary.CHOOSING]
    direct = results.mean_by_head(seen["direct"])
    ranked = sorted(direct, key=lambda head: -direct[head])
    assert {*ranked[:5]} == {f"L{i}H{j}" for i, j in mary.NAMED["write for the right name"]}
    assert {*ranked[-2:]} == {f"L{i}H{j}" for i, j in mary.NAMED["write against it"]}
