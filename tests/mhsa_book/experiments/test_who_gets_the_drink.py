"""What is stored of the heads that find who gets the drink comes out again, another way."""

import json
from dataclasses import replace
from itertools import chain
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean

import pytest
import torch

from mhsa_book import models
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.results import who_gets_the_drink as results
from mhsa_book.results.who_gets_the_drink import (
    ALL_ON,
    BOTH,
    HOWS,
    MEAN,
    RESAMPLE,
    THIRD,
    Found,
)
from mhsa_book.widgets.nine_heads import cases
from tests.architecture.library import TREE
from tests.helpers.history import words_at

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes

STORED = results.kept()
ALONE = [(layer, layer % 9) for layer in range(0, 30, 2)]
"""A twentieth of the 270 heads."""
KNOWN = ["store", "giver first"]
"""In runs that are made up."""
KNOWS_IT = ["store", "giver first", "station", "school"]
NOTE = TREE / "notebooks" / "lab_01_who_gets_the_drink.ipynb"


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


def chances(n_right, p_right=0.5, p_wrong=0.2, n=4):
    """Log-chances of n prompts, on some of which the right name leads."""
    right = [log(p_right), log(p_wrong)]
    return [right if i < n_right else right[::-1] for i in range(n)]


def made_up(n_off, *, way=None, template=None):
    """Runs in which the right name leads on 4 of 4 prompts with all heads on.

    With a set off on so many of them as ``n_off`` says by the set's name, or on all.
    """
    held_out = {
        t: {
            how: {ALL_ON: chances(4 if t in KNOWN else 1)}
            | {
                name: chances(
                    n_off.get(name, 4) if way in (None, how) and template in (None, t) else 4,
                    0.6,
                )
                for name in STORED.sets
            }
            for how in HOWS
        }
        for t in drink.TEMPLATES
    }
    return replace(STORED, held_out=held_out)


# --- before the run --------------------------------------------------------------------------


def test_predictions_are_in_the_commit_that_is_named():
    words = words_at(STORED.predictions_commit, Path(drink.__file__))
    assert STORED.predictions == drink.PREDICTIONS
    for prediction in drink.PREDICTIONS:
        assert all(part in words for part in prediction.split(", "))


def test_the_names_that_report_chose_nothing():
    assert not {*drink.HELD_OUT} & {*drink.PAGE_NAMES, *drink.FIRST_PAGE}
    assert {*drink.CHOOSING} | {*drink.OTHER_HALF} == {*drink.PAGE_NAMES}
    assert not {*drink.CHOOSING} & {*drink.OTHER_HALF}
    assert drink.sources("store", BOTH, drink.PAGE_NAMES) == cases.stored()["over"]
    assert len({frozenset(pair) for pair in drink.held_out()}) == len(drink.held_out()) == 28


@pytest.mark.parametrize("template", drink.TEMPLATES)
def test_all_texts_of_a_template_have_one_length_and_none_is_its_own_source(lm, template):
    texts = [drink.prompt(template, pair) for pair in drink.held_out()]
    of_ways = [drink.sources(template, how) for how in HOWS]
    assert len({len(lm.ids(text)) for text in [*texts, *chain(*of_ways)]}) == 1
    assert not {*texts} & {*chain(*of_ways)}
    assert of_ways[0] == of_ways[1]
    for two, three in zip(*of_ways[1:3], strict=True):
        named = [[text.count(name) for name in drink.CHOOSING] for text in (two, three)]
        assert [sorted(counts)[-3:] for counts in named] == [[0, 1, 2], [1, 1, 1]]


def test_the_sets_that_are_drawn_are_six_other_heads():
    sets = {name: {tuple(head) for head in heads} for name, heads in STORED.sets.items()}
    assert {name: STORED.sets[name] for name in drink.page_sets()} == {
        name: [[*head] for head in heads] for name, heads in drink.page_sets().items()
    }
    drawn = [name for name in sets if name[-1].isdigit()]
    assert len(drawn) == 6
    for name in drawn:
        assert len(sets[name]) == 6
        assert not sets[name] & {*drink.SIX, *drink.THREE}
    layers = {tuple(sorted(i for i, _ in sets[n])) for n in drawn if n.startswith("same")}
    assert layers == {tuple(sorted(i for i, _ in drink.SIX))}


def test_prompts_of_different_lengths_are_refused(lm):
    texts = [drink.prompt("garden", pair) for pair in (("Mary", "John"), ("Lucy", "Helen"))]
    with pytest.raises(ValueError, match="choose names that are one token"):
        drink.Prompts(lm, texts, [("Mary", "John"), ("Lucy", "Helen")])


# --- what is stored --------------------------------------------------------------------------


def test_it_is_of_the_file_that_is_loaded():
    assert STORED.model == SHA256
    assert len(STORED.heads) == 270
    assert [*STORED.held_out] == [*drink.TEMPLATES]
    for by_how in STORED.held_out.values():
        assert tuple(by_how) == HOWS
        assert {len(found) for sets in by_how.values() for found in sets.values()} == {28}
        assert all(sets.keys() == {ALL_ON, *STORED.sets} for sets in by_how.values())


@pytest.mark.slow  # lab note 1 measures another prompt again
def test_a_twentieth_of_the_sets_comes_out_again_one_text_at_a_time(lm):
    part = drink.part(STORED)
    n_cells = len(drink.TEMPLATES) * len(HOWS) * len(STORED.sets)
    assert len({*part}) / n_cells >= 0.05
    assert {(template, how) for template, how, _ in part} >= {
        (template, how) for template in drink.TEMPLATES for how in (RESAMPLE, THIRD)
    }
    assert drink.again(lm, STORED, part, at=5) < 2e-3


@torch.no_grad()
def test_the_run_itself_gives_what_is_stored(lm):
    """The last layer's heads, and two prompts of one cell, by the code that made the file."""
    for name, changes in drink.one_by_one(lm, [29]).items():
        assert changes == pytest.approx(STORED.heads[name], abs=3e-3), name
    pairs = drink.held_out()[:2]
    both = drink.Prompts(lm, [drink.prompt("station", pair) for pair in pairs], pairs)
    texts = [drink.sources("station", THIRD)[i] for i in drink.drawn(28)[:2]]
    found = both.log_chances(map(tuple, STORED.sets["six"]), drink.found_in(lm, texts))
    stored = STORED.held_out["station"][THIRD]["six"][:2]
    assert found == [pytest.approx(row, abs=2e-3) for row in stored]


def test_a_number_that_is_not_what_comes_out_is_noticed(lm):
    cell = "store", RESAMPLE, "six"
    other = json.loads(json.dumps(STORED.held_out))
    other["store"][RESAMPLE]["six"][5][1] += 0.01
    assert drink.again(lm, replace(STORED, held_out=other), [cell], at=5) > 9e-3


def test_a_twentieth_of_the_heads_comes_out_again_with_another_output_map(lm):
    """A head at its mean is one row less in W_O and a constant more: no wire is edited."""
    pairs = drink.ring(drink.CHOOSING)[::2] + drink.ring(drink.OTHER_HALF)[::2]
    texts = [drink.prompt("store", pair) for pair in pairs]
    means = drink.found_in(lm, drink.sources("store", MEAN)).mean(dim=(0, 3))

    def ahead(i):
        last = lm.logits(texts[i])[-1]
        right, wrong = (last[lm.id(f" {name}")] for name in pairs[i])
        return (right - wrong).item()

    whole = {i: ahead(i) for i in (2, 9)}
    for n, (layer, head) in enumerate(ALONE):
        i = (2, 9)[n % 2]
        W = lm.attention(layer).W_O.weight
        kept = W.detach().clone()
        part = slice(head * lm.d_head, (head + 1) * lm.d_head)
        constant = kept[:, part] @ means[layer, head]
        handle = lm.attention(layer).W_O.register_forward_hook(
            lambda module, args, y, constant=constant: y + constant
        )
        try:
            with torch.no_grad():
                W[:, part] = 0
            changed = ahead(i) - whole[i]
        finally:
            handle.remove()
            with torch.no_grad():
                W.copy_(kept)
        name = results.name((layer, head))
        assert changed == pytest.approx(STORED.heads[name][i], abs=3e-3), name


def test_the_first_page_says_what_is_stored():
    """By two implementations: the page's 512 cases were computed elsewhere."""
    heads = [tuple(head) for head in cases.stored()["heads"]]
    words = cases.stored()["words"]
    for name, off in {**drink.PAGE_SETS, ALL_ON: [], "L24H4": [(24, 4)]}.items():
        known = cases.chances([heads.index(head) for head in off])
        expected = [known[words.index(each)] for each in drink.FIRST_PAGE]
        assert STORED.on_page(name, BOTH) == pytest.approx(expected, abs=1e-3), name


def test_the_first_page_and_its_stored_numbers_agree():
    text = (TREE / "book" / "intro.md").read_text(encoding="utf-8").replace("\u00a0", " ")
    mary = {name: f"{100 * STORED.on_page(name, BOTH)[0]:.0f}" for name in STORED.page[BOTH]}
    assert f"falls from {mary[ALL_ON]} % to {mary['six']} %, so that *John* is ahead" in text
    assert f"without it she rises to {mary['L24H4']} %" in text
    assert STORED.on_page("six", BOTH)[0] < STORED.on_page("six", BOTH)[1]
    # "with other names the six do the same, but not if you switch them off in another way"
    assert max(STORED.leads(template, "six", BOTH).high for template in KNOWS_IT) < 0.5
    assert min(STORED.leads(template, "six", RESAMPLE).mean for template in KNOWS_IT) > 0.5


def test_the_lab_note_says_what_is_stored():
    cells = json.loads(NOTE.read_text(encoding="utf-8"))["cells"]
    note = " ".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    )
    (alt,) = (
        cell["metadata"]["mystnb"]["image"]["alt"]
        for cell in cells
        if "image" in cell["metadata"].get("mystnb", {})
    )

    def leads(name, how, digits=2, among=KNOWS_IT):
        return [f"{STORED.leads(t, name, how).mean:.{digits}f}" for t in among]

    six = {how: leads("six", how) for how in HOWS}
    for how in HOWS:
        assert "{}, {}, {} and {}".format(*six[how]) in alt
    low, high = ({how: pick(six[how])[2:] for how in HOWS} for pick in (min, max))
    assert f"leads on {low[RESAMPLE]} to {high[RESAMPLE]} of a hundred prompts" in note
    assert f"leads on only {low[THIRD]} to {high[THIRD]}." in note
    for template in KNOWS_IT:  # "on none of the four do the two intervals overlap"
        same, third = (STORED.leads(template, "six", how) for how in (RESAMPLE, THIRD))
        assert third.high < same.low
    assert f"side of the third: {low[BOTH]} to {high[BOTH]} of a hundred" in note
    assert f"all but *giver first* ({STORED.leads('giver first', 'six').mean:.2f})" in note
    above = [t for t in KNOWS_IT if STORED.leads(t, "four").mean > 0.5]
    assert above == ["giver first", "station", "school"]
    assert [t for t in KNOWS_IT if STORED.leads(t, "six").mean > 0.5] == ["giver first"]
    assert [t for t in KNOWS_IT if STORED.leads(t, "four", BOTH).mean > 0.5] == ["school"]
    few = {
        (name, template, how)
        for name in drink.drawn_sets(STORED)
        for template in KNOWS_IT
        for how in HOWS
        if STORED.leads(template, name, how).mean < 0.9
    }
    assert few == {("anywhere 1", "station", how) for how in (RESAMPLE, THIRD)}
    assert {STORED.leads("station", "anywhere 1", h).mean for h in (RESAMPLE, THIRD)} == {
        25 / 28
    }
    assert "25 of 28 prompts of *station* in both ways to resample, which is 0.89" in note

    for template in KNOWS_IT:  # "half to two thirds of what a third giver takes away"
        whole = STORED.ahead(template).mean
        same, third = (whole - STORED.ahead(template, "six", h).mean for h in (RESAMPLE, THIRD))
        assert 0.495 < same / third < 0.67
        for how in HOWS:  # "by a quarter to almost two fifths"
            assert 0.245 < STORED.gain(template, "three negative", how).mean < 0.4
    mary, john = STORED.on_page("six", RESAMPLE)
    assert f"falls from 0.92 to {mary:.2f}, and *John*, at {john:.2f}" in note
    mary, john = STORED.on_page("six", THIRD)
    assert 0 < john - mary < 0.1  # "just ahead"
    assert {f"{STORED.on_page('L24H4', how)[0]:.2f}" for how in HOWS} == {"0.98"}

    change = {name: STORED.alone(name).mean for name in STORED.heads}
    ranked = [results.head(name) for name in sorted(change, key=change.get)]
    assert {*drink.SIX} <= {*ranked[:8]}
    assert {*drink.THREE} <= {*ranked[-4:]}
    assert 0.6 < sum(abs(value) < 0.1 for value in change.values()) / 270 < 0.72
    assert [STORED.alone(results.name(head)).low > 0 for head in drink.THREE] == [1, 0, 1]
    assert 0.45 < change["L24H4"] < 0.55
    assert {*ranked[:8]} - {*drink.SIX} == {(0, 0), (29, 1)}
    assert {*drink.SIX} - {tuple(h) for h in STORED.sets["six by rule"]} == {(19, 2), (20, 0)}
    assert STORED.leads("garden").mean == pytest.approx(6 / 28)
    assert [i for i, true in enumerate(drink.verdicts(STORED), 1) if not true] == [1, 2, 4, 8]


# --- what is said of it ----------------------------------------------------------------------


def test_shares_and_means_follow_from_the_numbers_of_the_prompts():
    for template in drink.TEMPLATES:
        for how in HOWS:
            for name, found in STORED.held_out[template][how].items():
                n, whole = len(found), STORED.held_out[template][how][ALL_ON]
                share = sum(right > wrong for right, wrong in found) / n
                z = 1.959964  # Wilson, "Probable Inference", 1927
                half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
                ends = [(share + z * z / (2 * n) + s * half) / (1 + z * z / n) for s in (-1, 1)]
                assert STORED.leads(template, name, how) == pytest.approx(
                    [share, *ends], abs=1e-6
                )
                chance, ahead, gain = (
                    measure(template, name, how)
                    for measure in (STORED.chance, STORED.ahead, STORED.gain)
                )
                assert chance.mean == pytest.approx(fmean(exp(r) for r, _ in found))
                assert ahead.mean == pytest.approx(fmean(r - w for r, w in found))
                assert gain.mean == pytest.approx(
                    fmean(exp(a[0]) - exp(b[0]) for a, b in zip(found, whole, strict=True))
                )
                assert chance.low <= chance.mean <= chance.high
    for name, changes in STORED.heads.items():
        assert STORED.alone(name).mean == pytest.approx(fmean(changes[7:]), abs=1e-6)


def test_the_rule_chooses_by_one_half_alone():
    first = {name: fmean(changes[:7]) for name, changes in STORED.heads.items()}
    ranked = sorted(first, key=first.get)
    for sets in (STORED.sets, drink.by_rule(STORED.heads)):
        assert [results.name(head) for head in sets["six by rule"]] == ranked[:6]
        assert [results.name(head) for head in sets["three by rule"]] == ranked[:-4:-1]


@pytest.mark.parametrize(
    ("n_off", "way", "template", "came_true"),
    [
        ({"four": 1, "six": 1}, None, None, {3, 5, 6, 7, 8}),
        ({"four": 1, "six": 1}, MEAN, None, {3, 4, 6, 7, 8}),
        ({"four": 1, "six": 2}, MEAN, None, {4, 6, 7, 8}),
        ({"four": 1, "six": 1}, MEAN, "store", {4, 6, 7, 8}),
        ({"six": 2}, THIRD, None, {4, 5, 6, 7, 8}),
        ({"six": 2}, RESAMPLE, "store", {6, 7, 8}),
        ({"six": 2}, THIRD, "store", {4, 6, 7, 8}),
        ({"three negative": 1}, RESAMPLE, "store", {4, 7, 8}),
        ({"same layers 2": 3}, THIRD, "giver first", {4, 6, 8}),
        ({"same layers 2": 3}, THIRD, "garden", {4, 6, 7, 8}),
    ],
)
def test_verdicts_are_read_off_the_numbers(n_off, way, template, came_true):
    said = drink.verdicts(made_up(n_off, way=way, template=template))
    assert {i for i, true in enumerate(said) if true and i > 2} == came_true


def test_verdicts_on_single_heads_are_read_off_the_numbers():
    heads = dict.fromkeys(STORED.heads, [0.0] * 14)
    heads |= {"L23H3": [0.0] * 7 + [-1.0] * 7}
    heads |= dict.fromkeys(["L29H0", "L24H4", "L23H1"], [0.0] * 7 + [0.5] * 7)
    sets = STORED.sets | {"six by rule": [*drink.SIX[:3], (1, 1), (1, 2), (1, 3)]}
    assert drink.verdicts(replace(STORED, heads=heads, sets=sets))[:3] == (True,) * 3
    worse = heads | {"L0H0": [0.0] * 7 + [-2.0] * 7, "L24H4": [0.0] * 13 + [0.5]}
    sets = STORED.sets | {"six by rule": [*drink.SIX[:2], (1, 0), (1, 1), (1, 2), (1, 3)]}
    assert drink.verdicts(replace(STORED, heads=worse, sets=sets))[:3] == (False,) * 3


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
