"""The measures against plain loops, and what is stored against what was planned."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

from mhsa_book import models
from mhsa_book.experiments import heads_sorted as study
from mhsa_book.results import heads_sorted as results
from tests.helpers.history import words_at

STORED = results.kept()


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


def by_loops(tokens, weights):
    """What one head gives to copies, behind copies and one further, query by query."""
    found = {study.DUPLICATE: [], study.INDUCTION: [], study.BEHIND: []}
    for q in range(len(tokens)):
        same = {k for k in range(1, q) if tokens[k] == tokens[q]}
        behind = {k + 1 for k in same if k + 1 < q} - same
        further = {k + 1 for k in behind if k + 1 < q} - same - behind
        if same and behind and further:
            for name, places in zip(found, (same, behind, further), strict=True):
                found[name].append(sum(weights[q][k] for k in places))
    return {name: fmean(values) for name, values in found.items()}


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_plain_loops(seed):
    draw = torch.Generator().manual_seed(seed)
    tokens = [f"{i}" for i in torch.randint(0, 6, (20,), generator=draw).tolist()]
    weights = torch.rand(2, 3, 20, 20, generator=draw).tril()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    found = study.measures(tokens, weights)
    rows = weights[1, 2].tolist()
    for name, value in by_loops(tokens, rows).items():
        assert found[name][1, 2].item() == pytest.approx(value, abs=1e-6), name
    previous = fmean(rows[q][q - 1] for q in range(2, 20))
    assert found[study.PREVIOUS][1, 2].item() == pytest.approx(previous, abs=1e-6)
    first = fmean(rows[q][0] for q in range(1, 20))
    assert found[study.FIRST][1, 2].item() == pytest.approx(first, abs=1e-6)


def test_what_chooses_and_what_is_shown_have_no_text_in_common(lm):
    for halves in study.SETS.values():
        one, other = ({study.text_of(lm, name, i) for i in range(8)} for name in halves)
        assert len(one) == len(other) == 8
        assert not one & other


def test_rows_of_words_are_said_twice_and_differ_in_length(lm):
    lengths = set()
    for name in study.REPEATED:
        for i in range(study.N_TEXTS):
            tokens = lm.tokens(study.repeated(lm, name, i))
            n = len(tokens) // 2
            assert tokens[:n] == tokens[n:]
            assert len({*tokens}) == n
            lengths.add(n)
    assert len(lengths) > 5
    assert 20 <= min(lengths) <= max(lengths) <= 40


def test_a_token_that_is_hidden_still_sees_itself_and_is_seen_before():
    hidden = study.hidden(3, [1, 4])(torch.zeros(6, 6)).isinf()
    expected = torch.zeros(6, 6, dtype=torch.bool)
    expected[3:, 1] = True
    expected[5:, 4] = True
    assert torch.equal(hidden, expected)
    alone = study.sees_only(2, [0, 2])(torch.zeros(4, 4)).isinf()
    assert alone.nonzero().tolist() == [[2, 1], [2, 3]]
    assert study.handed_nothing(2)(torch.ones(4, 4))[:, 0].tolist() == [1, 1, 0, 0]


def test_predictions_are_in_the_commit_that_is_named():
    assert STORED.predictions == study.PREDICTIONS
    words = words_at(STORED.predictions_commit, Path(study.__file__))
    for prediction in STORED.predictions:
        assert all(part in words for part in prediction.split(", "))


def test_every_text_and_every_head_is_stored():
    assert [*STORED.heads] == [*study.HALVES, study.OTHER, *study.REPEATED]
    for by_measure in STORED.heads.values():
        for texts in by_measure.values():
            assert [len(heads) for heads in texts] == [270] * study.N_TEXTS
    assert {len(values) for values in STORED.first.values()} == {2 * study.N_TEXTS}


def test_means_follow_from_the_numbers_of_the_texts():
    texts = STORED.heads[study.REPEATED[0]][study.INDUCTION]
    mean = fmean(heads[9 * 18 + 6] for heads in texts)
    assert STORED.table(study.REPEATED[0], study.INDUCTION)[18, 6] == pytest.approx(mean)
    interval = STORED.of_head(study.REPEATED[0], study.INDUCTION, 18, 6)
    assert interval.mean == pytest.approx(mean)
    assert interval.low <= mean <= interval.high
    rises = [
        after - before
        for after, before in zip(
            STORED.first["thrown out"], STORED.first["nothing changed"], strict=True
        )
    ]
    assert STORED.change("thrown out").mean == pytest.approx(fmean(rises), abs=1e-5)


def test_a_text_and_a_loss_come_out_again_and_a_wrong_number_is_noticed(lm):
    texts, ways = [(study.REPEATED[0], 2)], ["thrown out"]
    assert study.again(lm, STORED, texts, ways) < 5e-3
    other = json.loads(json.dumps(STORED.first))
    other["thrown out"][0] += 0.02
    assert study.again(lm, replace(STORED, first=other), [], ways) > 1e-2


@pytest.mark.parametrize(
    ("way", "values", "prediction"),
    [
        ("never there", 0.2, 8),
        ("thrown out", 0.9, 9),
        ("eight others thrown out", 0.2, 9),
        ("hands over nothing", 2.0, 10),
    ],
)
def test_a_prediction_fails_where_the_losses_say_otherwise(way, values, prediction):
    whole = STORED.first["nothing changed"]
    other = STORED.first | {way: [loss + values for loss in whole]}
    assert not study.verdicts(replace(STORED, first=other))[prediction - 1]


def test_nothing_is_written_if_it_is_too_much(tmp_path):
    many = replace(STORED, first={"x": [0.123456789] * 40_000})
    with pytest.raises(ValueError, match="limit"):
        results.save(many, tmp_path / "many.json")
    assert not [*tmp_path.iterdir()]
    with pytest.raises(FileNotFoundError, match="heads_sorted"):
        results.kept(tmp_path / "none.json")
