"""Heads of a decoder and grammar: searched on one half, reported on the other."""

import pytest
import torch

from mhsa_book import roles
from mhsa_book.examples import annotated
from mhsa_book.experiments import heads_and_grammar as study
from mhsa_book.results.bootstrap import Interval
from mhsa_book.roles import arcs
from mhsa_book.roles.pieces import backwards

SENTENCES = annotated.sentences()
LONGEST = max(len(sentence.words) for sentence in SENTENCES)


def looks_at(relation):
    """One of ten heads finds the partners of a relation, and the others the word before."""
    place = torch.arange(LONGEST)
    tops = (place - 1).expand(len(SENTENCES), 2, 5, LONGEST).clone()
    arc = backwards(arcs.dependencies(SENTENCES, relation))
    tops[arc.sentence, 1, 3, arc.word] = arc.partner
    return tops


def test_a_head_that_finds_its_partners_passes_and_is_named():
    found = study.searched(looks_at("obj"), SENTENCES, "obj")
    assert found.distance.accuracy > 0.95  # two objects may have one later word
    assert study.passes(found.distance)
    assert study.called(found.distance) == "L1H3"
    assert found.chance < 0.5


def test_a_head_that_knows_a_distance_does_not_pass():
    place = torch.arange(LONGEST)
    tops = (place - 2).expand(len(SENTENCES), 1, 1, LONGEST)
    found = study.searched(tops, SENTENCES, "obj")
    assert found.distance.difference.mean == 0
    assert not study.passes(found.distance)
    assert study.largest(tops, SENTENCES)["obj"] == found.distance.accuracy


def test_two_heads_are_both_named_and_do_not_pass():
    tops = looks_at("obj")
    arc = backwards(arcs.dependencies(SENTENCES, "obj"))
    odd = arc.sentence % 2 == 1
    tops[arc.sentence[odd], 1, 3, arc.word[odd]] = -1
    tops[arc.sentence[odd], 0, 4, arc.word[odd]] = arc.partner[odd]
    found = study.searched(tops, SENTENCES, "obj")
    assert study.called(found.distance) == "L1H3 / L0H4"
    assert not study.passes(found.distance)


def test_an_encoder_may_look_back_from_the_partner():
    arc = roles.dependencies(SENTENCES, "det")
    tops = torch.full((len(SENTENCES), 1, 1, LONGEST), -1)
    tops[arc.sentence, 0, 0, arc.partner] = arc.word
    distances, heads, classes = study.candidates(tops, SENTENCES, arc, both_ways=True)
    assert heads.shape == (len(arc.word), 2, 1, 1)
    assert heads[:, 1].double().mean() > 0.95
    assert not heads[:, 0].any()
    assert len(distances) == len(classes) == len(arc.word)
    one_way = study.candidates(tops, SENTENCES, backwards(arc), both_ways=False)[1]
    assert one_way.shape == (len(arc.word), 1, 1)


def test_prefix_matching_sums_over_the_earlier_copies():
    weights = torch.zeros(1, 1, 7, 7)
    weights[..., 3, 2] = 0.5  # tokens 1, 2, 1, 2, 1, 2 behind the first: from 1 to 2
    weights[..., 5, 2], weights[..., 5, 4] = 0.25, 0.5
    weights[..., 6, 3] = 1
    found = study.prefix_matching(weights, n_before=1, block=2)
    assert found.item() == pytest.approx((0.5 + 0 + 0.75 + 1) / 4)


def test_the_same_places_count_in_a_row_without_copies():
    even = torch.ones(101, 101).tril()
    even = (even / even.sum(dim=-1, keepdim=True))[None, None]
    assert 0 < study.prefix_matching(even).item() < 0.05


def leads():
    """The head for pronouns is ahead of every guess."""
    names = ["nearest noun", "first noun", "nearest subject", "first subject"]
    names += ["first noun, number", "first noun, number and person"]
    return dict.fromkeys(names, Interval(0.1, 0.05, 0.2))


def test_verdicts_answer_the_predictions_in_their_order():
    found = {name: study.searched(looks_at(name), SENTENCES, name) for name in study.RELATIONS}
    shares = {name: found[name].distance.accuracy for name in found}
    untrained = [{name: 0.4 * share for name, share in shares.items()}]
    scores = torch.zeros(30, 9)
    scores[20:21, :] = 0.9
    nothing = torch.zeros(30, 9)
    came = study.verdicts(found, found, untrained, scores, nothing, leads())
    assert len(came) == len(study.PREDICTIONS)
    assert came == (True, True, False, False, True, True, True, True, False)
    too_good = [{name: 0.6 * share for name, share in shares.items()}]
    assert not study.verdicts(found, found, too_good, scores, nothing, leads())[4]
    assert not study.verdicts(found, found, untrained, scores, scores, leads())[6]
    scores[1, 3] = 1  # the head that was chosen
    assert not study.verdicts(found, found, untrained, scores, nothing, leads())[7]
    behind = leads()
    behind["first noun, number and person"] = Interval(0.0, -0.1, 0.1)
    assert study.verdicts(found, found, untrained, scores, nothing, behind)[8]
    behind["nearest noun"] = Interval(0.0, -0.1, 0.1)
    assert not study.verdicts(found, found, untrained, scores, nothing, behind)[8]
