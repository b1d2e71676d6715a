"""What heads write when others are off or lie, measured once more one text at a time."""

import math
from contextlib import ExitStack
from pathlib import Path

import pytest

from mhsa_book import models
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.experiments import who_steps_in as steps
from mhsa_book.experiments import whose_heads_checked as checked
from mhsa_book.experiments import whose_heads_name_mary as mary
from mhsa_book.results import who_gets_the_drink as lab_1
from mhsa_book.results import who_steps_in as results
from mhsa_book.results import whose_heads_name_mary as first
from mhsa_book.widgets.language_model_lab import stored
from mhsa_book.widgets.language_model_lab.answers import Answers
from mhsa_lib.tracing import edit, trace
from tests.helpers.history import words_at
from tests.helpers.toward import toward

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.fixture(scope="module")
def found():
    return results.kept()


def test_predictions_are_in_the_commit_that_is_named(found):
    words = words_at(found.predictions_commit, Path(steps.__file__))
    assert found.predictions == steps.PREDICTIONS
    for prediction in steps.PREDICTIONS:
        assert all(part in words for part in prediction.split(", "))


@pytest.mark.slow  # lab note 3 measures another prompt again
def test_what_others_write_without_some_heads_comes_out_again(lm, found):
    assert checked.reacted_again(lm, found, "station", at=5) < 0.02


def test_the_lead_without_one_head_is_that_of_the_first_run(found):
    before = first.kept()
    for template in mary.TEMPLATES:
        for head in ("L23H0", "L20H0", "L17H4", "L16H0", "L24H4"):
            now = found.off[template][head][results.LEAD]
            assert now == pytest.approx(before.off[template][first.MEAN][head], abs=0.011)


@pytest.mark.parametrize(("sender", "receiver"), [("L20H0", "L23H0"), ("L23H3", "L24H4")])
def test_what_a_receiver_writes_after_a_lie_comes_out_by_edits_too(lm, found, sender, receiver):
    """Its query is made with every earlier head held; its weights and z are computed here."""
    template, at = "school", 4
    _, pair, third = mary.pairs_of(template)[at]
    text, source = drink.prompt(template, pair), drink.prompt(template, pair, third)
    (layer, head), held = lab_1.head(receiver), lm.heads(text)
    true = held[layer, head, -1].clone()
    with trace(lm.attention(layer)) as before:
        lm.logits(text)
    held[lab_1.head(sender)][-1] = lm.heads(source)[lab_1.head(sender)][-1]
    with ExitStack() as stack:
        for i in range(layer):
            stack.enter_context(edit(lm.attention(i), "z", lambda z, i=i: held[i].view_as(z)))
        lied = stack.enter_context(trace(lm.attention(layer)))
        lm.logits(text)
    q, k, v = lied["q_rotated"][0, head, -1], before["k_rotated"][0], before["v_heads"][0]
    weights = (k[head // 3] @ q / len(q) ** 0.5).softmax(dim=0)
    z = weights @ v[head // 3]
    wrote = [lm.contributions(text, f" {name}").heads[layer, head] for name in pair]
    # What a head writes is linear in its z: a second point of the same line gives the slope.
    slope = toward(lm, text, pair, layer, head)
    assert true @ slope == pytest.approx(float(wrote[0] - wrote[1]), abs=1e-2)
    kept = found.told[template][receiver][sender][at]
    assert float((z - true) @ slope) == pytest.approx(kept, abs=0.02)
    assert abs(kept) > 0.1, "nothing was told"


def test_other_heads_than_those_that_tell_do_not_come_out_first(found):
    """The verdicts read the numbers: with two heads exchanged, they say something else."""
    numbers = first.kept()
    assert checked.verdicts_on_reactions(found, numbers).count(False) == 1
    exchanged = {
        template: {
            receiver: by | {"L20H0": by["L22H7"], "L22H7": by["L20H0"]}
            for receiver, by in told.items()
        }
        for template, told in found.told.items()
    }
    other = results.SteppedIn(**(vars(found) | {"told": exchanged}))
    verdicts = checked.verdicts_on_reactions(other, numbers)
    assert [n for n, came_true in enumerate(verdicts, start=1) if not came_true] == [5, 7]


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="who_steps_in"):
        results.kept(tmp_path / "none.json")


def test_what_is_saved_is_read_again(tmp_path, found):
    results.save(found, tmp_path / "again.json")
    assert results.kept(tmp_path / "again.json") == found


def test_the_figure_of_a_page_gives_a_sample_of_what_is_stored(lm):
    """With L23H3 at zero, on four held-out prompts, as a reader can switch it off."""
    answers, numbers, both = Answers(lm, stored.means()), first.kept(), 0
    for template in mary.TEMPLATES:
        for at, (_, pair, _) in enumerate(mary.pairs_of(template)[:2]):
            said = answers.read(drink.prompt(template, pair), [23 * 9 + 3], "zero")
            p = {word["text"]: word["p"] for word in said["next"]}
            right, wrong = (p.get(f" {name}") for name in pair)
            if right is None or wrong is None:  # the figure shows ten words
                continue
            both += 1
            whole = numbers.watched[template]["lead"][at]
            lead = whole + numbers.off[template][first.ZERO]["L23H3"][at]
            assert math.log(right / wrong) == pytest.approx(lead, abs=0.03)
    assert both >= 4
