"""The stored numbers of eight translators: whole, read by name, true of the shipped one."""

import json
import math

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments import translation
from mhsa_book.experiments.translation import measured
from mhsa_book.models.translator import translator
from mhsa_book.results import translators
from mhsa_book.results.translators import FILE, Spread, Translators, total

FOUND = translators.kept()
CROSS = "cross-attention"


def test_there_are_eight_seeds_and_it_is_said_how_they_were_made():
    assert FOUND.seeds == tuple(range(8))
    assert FOUND.settings["steps"] == 1200
    assert FOUND.settings["pairs tested"] == 512
    assert {"date", "torch", "processor"} <= {*FOUND.machine}
    assert FILE.stat().st_size < 300_000


def test_every_head_every_kind_and_every_pair_is_there():
    heads = [str(head) for head in translation.heads_of(translator())]
    assert FOUND.heads == tuple(heads)
    assert set(FOUND.kinds) == set(translation.KINDS)
    for model in FOUND.models.values():
        assert {way: len(off) for way, off in model["off"].items()} == {
            **dict.fromkeys(("zero", "mean", "resample"), 24 + 3)
        }
        assert len(model["pairs"]) == 24 * 23 // 2


def test_a_kind_has_its_own_heads():
    kinds = {kind: FOUND.of(kind) for kind in FOUND.kinds}
    assert sorted(head for heads in kinds.values() for head in heads) == sorted(FOUND.heads)
    assert {head.split()[0] for head in kinds[CROSS]} == {"cross"}
    assert {head.split()[0] for head in kinds["decoder self-attention"]} == {"decoder"}
    with pytest.raises(ValueError, match="'cross' is no kind of attention"):
        FOUND.of("cross")


def test_a_pair_is_the_same_from_both_sides():
    one, other = FOUND.heads[2], FOUND.heads[20]
    assert FOUND.both(one, other) == FOUND.both(other, one)
    stored = FOUND.models["3"]["pairs"][f"{one} and {other}"]
    assert FOUND.both(one, other, "agreement")[3] == stored[2]


def test_costs_lie_in_their_intervals():
    for way in ("zero", "mean", "resample"):
        for task in language.TASKS:
            mean, low, high = FOUND.interval(5, CROSS, task, way)
            assert low < mean < high
            assert FOUND.off(CROSS, task, way)[5] == mean


def test_the_shipped_translator_is_the_one_of_seed_0():
    """Two heads, a pair and a kind measured again; the sampling of sentences is the same."""
    model, pairs = translator(), measured.fresh_pairs()
    ways, groups = measured.ways(model), measured.groups(model)
    for name, way in (("encoder L1H3", "zero"), ("cross L0H2", "mean"), (CROSS, "resample")):
        more = measured.more(model, pairs, groups[name], ways[way])
        for task, cost in translation.by_task(more, pairs).items():
            assert cost == pytest.approx(FOUND.off(name, task, way)[0], abs=2e-3)
    two = [head for name in ("cross L0H2", "cross L0H3") for head in groups[name]]
    both = translation.by_task(measured.more(model, pairs, two, ways["mean"]), pairs)
    assert both["count"] == pytest.approx(FOUND.both(*map(str, two), "count")[0], abs=2e-3)


@pytest.mark.nohook  # of thousands of small calls
def test_its_alignment_errors_are_the_stored_ones():
    model, pairs, known = translator(), measured.fresh_pairs(), measured.other_pairs(4000)
    found = measured.missed(model, pairs, known)
    for name, stored in FOUND.models["0"]["missed"].items():
        assert_close(torch.tensor(found[name]), torch.tensor(stored), atol=1e-3, rtol=0)
    bare = measured.missed(translation.untrained(0).eval(), pairs, known)
    assert FOUND.missed_untrained("weights")[0] == pytest.approx(bare["weights"], abs=1e-3)


def test_all_eight_translate():
    for model in FOUND.models.values():
        assert model["right"] > 0.98
        assert model["whole"]["any"] < 0.01
        assert model["whole"]["greeting"] == pytest.approx(language.CHOICE, abs=0.03)


def test_every_prediction_has_an_answer_of_its_own():
    found = translation.verdicts(FOUND)
    assert [verdict.prediction for verdict in found] == [*translation.PREDICTIONS]
    assert all(set(verdict.held) <= set(FOUND.seeds) for verdict in found)
    assert {verdict.promised for verdict in found} == {7, 8}
    assert [v.came_true for v in found] == [len(v.held) >= v.promised for v in found]


def test_numbers_that_contradict_a_prediction_make_it_fail():
    """Every cost the same, every error the same: nothing is more than anything else."""
    text = json.dumps(FOUND.models["0"])
    model = json.loads(text)
    for off in model["off"].values():
        for name in off:
            off[name] = {task: [0.1, 0, 1] for task in off[name]}
    model["missed"] = {name: 0.5 for name in model["missed"]}
    even = Translators({}, {}, {"0": model}, {})
    assert not any(verdict.held for verdict in translation.verdicts(even))


def test_a_spread_adds_up_seed_by_seed():
    assert total([Spread([1.0, 2.0]), Spread([3.0, 5.0])]) == (4, 7)
    assert repr(Spread([1.0, 2.0, 3.0])) == "2.00 ± 1.00"


@pytest.mark.bothways
def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="measure_translators"):
        translators.kept(tmp_path / "none.json")


def test_what_the_chapter_says_of_every_seed_is_so_of_every_seed():
    encoder, decoder, _ = translation.KINDS
    assert min(FOUND.off(encoder, "sense")) > math.log(2)
    assert min(FOUND.off(decoder, "agreement") + FOUND.off(decoder, "count")) > 2
    for task in set(language.TASKS) - {"sense"}:
        pairs = zip(FOUND.off(decoder, "sense"), FOUND.off(decoder, task), strict=True)
        assert all(sense < other for sense, other in pairs)
    norms, hidden = FOUND.missed("norms"), FOUND.missed("hiding a row")
    assert sum(one < other for one, other in zip(norms, hidden, strict=True)) == 4
    assert max(FOUND.never_had(encoder)) < 0.005
    assert all(math.log(2) < nats < 0.85 for nats in FOUND.never_had(decoder, "agreement"))
    assert len(FOUND.never_had(encoder)) == len(FOUND.never_had(decoder)) == 4
