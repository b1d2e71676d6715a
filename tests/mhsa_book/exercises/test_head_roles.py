"""Chapter 12: distances, the next verb, and an accuracy that was not chosen."""

import torch

from mhsa_book.exercises import check


def test_the_distances_are_those_of_the_annotated_arcs():
    assert check("usual_offsets", (-2, 2))
    assert "from the head to the dependent" in check("usual_offsets", (2, -2)).text
    assert not check("usual_offsets", (-2, 1))


def test_the_next_verb_is_counted_once_an_arc():
    assert check("passive_subjects", 10 / 13)
    assert not check("passive_subjects", 1.0)
    assert not check("passive_subjects", 0.7)


def test_choosing_and_reporting_on_the_same_arcs_is_told():
    def best_of_all(hits, sentence):
        return hits.double().mean(dim=0).max().item()

    def other_half(hits, sentence):
        odd = sentence % 2 == 1
        return hits[~odd, hits[odd].double().mean(dim=0).argmax()].double().mean().item()

    def right(hits, sentence):
        odd = (sentence % 2).bool()
        chosen = torch.stack([hits[~odd, i].double().mean() for i in range(hits.shape[1])])
        return hits[odd, chosen.argmax()].double().mean()

    assert check("held_out", right)
    assert "smallest input" in check("held_out", best_of_all).text
    assert not check("held_out", other_half)
