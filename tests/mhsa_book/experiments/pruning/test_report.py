"""What came out is judged by the numbers, and the numbers that are told are those stored."""

from dataclasses import replace

import pytest

from mhsa_book.experiments.pruning import (
    PREDICTIONS,
    answers,
    losses,
    report,
    survival,
    verdicts,
)
from mhsa_book.results import pruning
from mhsa_book.results.pruning import CHANCE, GREEDY, L0, SCRATCH
from tests.mhsa_book.experiments.pruning.small import made_up

FOUND = made_up()


def test_planned_comparisons_are_corrected_together():
    claims = answers(FOUND)
    assert {claim.n_comparisons for claim in claims} == {6}
    first = claims[0].comparison
    assert (first.first, first.second) == ("L0, heads alone at 8", "random at 8")
    assert first.n == 8


def test_the_chapter_says_what_was_found():
    found = pruning.kept()
    verdicts_of_questions = [claim.verdict for claim in answers(found)]
    assert verdicts_of_questions == ["less"] * 3 + ["not told apart"] * 2 + ["more"]
    assert [v.came_true for v in verdicts(found)] == [True, False] + [True] * 8


def test_every_prediction_has_an_answer_and_made_up_numbers_decide_it():
    found = verdicts(FOUND)
    assert [verdict.prediction for verdict in found] == [*PREDICTIONS]
    expected = [True, True, False, False, True, False, True, False, False, False]
    assert [verdict.came_true for verdict in found] == expected


def changed(**parts):
    return replace(FOUND, models={s: replace(m, **parts) for s, m in FOUND.models.items()})


def judged(number, found):
    return verdicts(found)[number - 1].came_true


def test_gates_that_miss_the_level_or_lie_between_are_noticed():
    levels = [str(level) for level in FOUND.levels]
    assert not judged(1, changed(log_alpha=dict.fromkeys(levels, [3.0] * 24)))
    assert not judged(2, changed(log_alpha=dict.fromkeys(levels, [0.0] * 4 + [3.0] * 20)))
    assert judged(2, changed(log_alpha=dict.fromkeys(levels, [0.0] * 3 + [3.0] * 21)))


def test_times_roles_and_the_encoder_are_judged_by_their_numbers():
    times = {"18": 0.9, "12": 0.65, "8": 0.5, "4": 0.4, "closed": 1.02}
    assert judged(10, changed(times=times))
    assert not judged(10, changed(times=times | {"closed": 0.9}))
    forth, back = [*range(24)], [*reversed(range(24))]
    kept = {"importance": forth, "greedy": forth, "confidence": back}
    assert judged(9, changed(orders=kept))
    assert not judged(9, changed(orders=kept | {"confidence": forth}))
    last = {level: [*range(24)] for level in FOUND.models[0].log_alpha}
    assert judged(8, changed(log_alpha={level: _spread() for level in last}))


def _spread():
    """Two heads of the decoder's self-attention and two of cross-attention come first."""
    return [9.0 if head in (8, 9, 16, 17) else 0.1 for head in range(24)]


@pytest.mark.parametrize(("number", "way"), [(3, GREEDY), (7, SCRATCH)])
def test_one_way_against_others_is_counted_by_seed(number, way):
    loser = [[[9.0] * 5, [9.0] * 5]]
    models = {}
    for seed, model in FOUND.models.items():
        cuts = {
            level: {name: [[0.0] * 5, [1.0] * 5] if name == way else loser[0] for name in each}
            for level, each in model.cuts.items()
        }
        drawn = {level: loser * 2 for level in cuts}
        models[seed] = replace(model, cuts=cuts, drawn_cuts=drawn)
    assert judged(number, replace(FOUND, models=models))


def test_the_tables_hold_the_stored_means():
    sheet = losses(FOUND)
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert rows[L0][2].startswith(f"{1 / 8 + 0.0035:.4f} (")
    assert rows[SCRATCH][1].startswith("0.0103 (")
    assert len(rows) == 7
    assert SCRATCH not in {row[0] for row in losses(FOUND, "before").rows}
    assert survival(FOUND).rows[0][3].startswith("32 (10.7, p < 0.0001)")
    assert CHANCE in {row[0] for row in survival(FOUND).rows}


def test_all_of_it_is_told_and_the_paper_s_number_as_the_paper_s():
    text = report(FOUND)
    assert "for 6 planned comparisons. 8 seeds give no p below 0.0078." in text
    assert text.count("came true:") == 4
    assert "38 of the 48 heads" in " ".join(text.split())
    assert "the paper measured, and this run did not" in " ".join(text.split())
