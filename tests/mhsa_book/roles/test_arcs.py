"""Arcs are read as they are annotated, and a head is right where its largest weight says so."""

import pytest
import torch

from mhsa_book import roles
from mhsa_book.roles import arcs as A
from tests.mhsa_book.roles.sentences import SENTENCES

DET = roles.dependencies(SENTENCES, "det")


def pairs(arcs):
    return [*zip(*(field.tolist() for field in arcs[:3]), strict=True)]


def pointing(arcs, n_words=14):
    """Tops of one head that is right about all of these arcs, and else looks nowhere."""
    table = torch.full((len(SENTENCES), 1, 1, n_words), -1)
    table[arcs.sentence, 0, 0, arcs.word] = arcs.partner
    return table


def test_an_arc_goes_from_the_dependent_to_its_head():
    found = roles.dependencies(SENTENCES, "amod")
    assert pairs(found) == [(0, 1, 2), (0, 5, 6), (1, 5, 6), (2, 6, 7), (4, 5, 6)]
    assert found.n_words.tolist() == [14, 14, 14, 9, 11]


def test_a_relation_is_meant_as_it_is_written():
    assert (2, 1, 3) not in pairs(roles.dependencies(SENTENCES, "nsubj"))
    both = pairs(roles.dependencies(SENTENCES, "nsubj", "nsubj:pass"))
    assert (2, 1, 3) in both
    assert len(both) == 10


def test_a_relation_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="no arc is iobj; these sentences have acl:relcl"):
        roles.dependencies(SENTENCES, "iobj")
    with pytest.raises(ValueError, match="no arc is of no relation"):
        roles.dependencies(SENTENCES)


def test_turned_arcs_go_back():
    assert pairs(DET.turned()) == [(s, partner, word) for s, word, partner in pairs(DET)]
    assert torch.equal(DET.turned().n_words, DET.n_words)


def test_an_antecedent_is_looked_back_at():
    found = roles.antecedents(SENTENCES)
    assert (5, 10, 7) in pairs(found)  # his: captain
    assert (5, 1, 7) not in pairs(found)  # he, before the captain
    assert len(pairs(found)) == 6
    with pytest.raises(ValueError, match="none of 1 sentences has a pronoun behind"):
        roles.antecedents(SENTENCES[2:3])


def test_a_head_that_points_at_every_partner_is_right_each_time():
    assert A.hits(pointing(DET), DET).all()
    assert not A.hits(pointing(DET), DET.turned()).any()
    both = A.hits_both_ways(pointing(DET.turned()), DET)
    assert both.shape == (len(DET.word), 2, 1, 1)
    assert not both[:, 0].any()
    assert both[:, 1].double().mean() > 0.9  # a head of two looks at one of them only


def test_a_fixed_distance_is_right_where_the_partner_stands_there():
    guesses = A.fixed_offset(DET)
    assert {k: int(v.sum()) for k, v in guesses.items()} == {1: 6, 2: 5}
    turned = A.fixed_offset(DET.turned())
    assert {-k: v.tolist() for k, v in turned.items()} == {
        k: v.tolist() for k, v in guesses.items()
    }
    assert torch.stack([*guesses.values()]).sum(dim=0).eq(1).all()


def test_the_nearest_and_the_first_noun_stand_before_the_pronoun():
    found = roles.antecedents(SENTENCES)
    nearest, first, *_ = A.nouns_before(SENTENCES, found).values()
    right = dict(
        zip(pairs(found), zip(nearest.tolist(), first.tolist(), strict=True), strict=True)
    )
    assert right == {
        (0, 8, 6): (True, False),  # it: cat, and not dog
        (1, 10, 1): (False, True),  # she: sister, and not letter
        (1, 12, 6): (True, False),
        (3, 3, 0): (True, True),  # a name is a noun
        (4, 2, 1): (True, True),
        (5, 10, 7): (True, False),  # his: captain, and not storm
    }


def test_the_nearest_and_the_first_subject_are_nouns_that_a_verb_has():
    found = roles.antecedents(SENTENCES)
    right = A.nouns_before(SENTENCES, found)
    both = zip(
        *(right[f"{which} subject"].tolist() for which in ("nearest", "first")), strict=True
    )
    assert dict(zip(pairs(found), both, strict=True)) == {
        (0, 8, 6): (False, False),  # it: the cat that was chased
        (1, 10, 1): (True, True),  # she: the sister who read
        (1, 12, 6): (False, False),
        (3, 3, 0): (True, True),
        (4, 2, 1): (True, True),
        (5, 10, 7): (True, True),
    }


def test_a_guess_takes_the_nearest_word_of_a_class():
    subjects = roles.dependencies(SENTENCES[:1], "nsubj")
    assert pairs(subjects) == [(0, 2, 3), (0, 8, 10)]
    right = {k: v.tolist() for k, v in A.of_a_class(SENTENCES, subjects).items()}
    assert right["next verb"] == [True, True]
    assert right["next noun or verb"] == [True, True]
    assert right["previous verb"] == right["next noun"] == [False, False]
    objects = A.of_a_class(SENTENCES, roles.dependencies(SENTENCES[:1], "obj"))
    assert objects["previous verb"].tolist() == [True, True]
    assert objects["previous noun or verb"].tolist() == [True, True]
    turned = A.of_a_class(SENTENCES, subjects.turned())
    assert turned["previous noun"].tolist() == [True, False]  # had stolen: cat, and not it
    assert turned["next verb"].tolist() == [False, False]


def test_clark_turns_the_map_and_not_the_arc():
    """The word that looks most at a dependent: its column, not the head's row."""
    weights = torch.tensor([[0.0, 0.2, 0.1], [0.3, 0.0, 0.6], [0.9, 0.05, 0.0]])[None, None]
    arc = A.Arcs(*torch.tensor([[0], [1], [0], [3]]))  # word 1 depends on word 0
    rows, columns = roles.tops([weights]), roles.tops([weights.mT])
    assert A.hits(rows, arc.turned()).item()  # word 0 looks most at word 1
    assert A.hits(columns, arc).item()  # and nobody looks at word 1 more than word 0
    arc = A.Arcs(*torch.tensor([[0], [0], [1], [3]]))  # word 0 depends on word 1
    assert not A.hits(columns, arc).item()  # word 2 looks at it more
