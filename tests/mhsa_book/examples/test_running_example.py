"""Every head of the running example does its job, in every sentence of its grammar."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from mhsa_book import examples
from mhsa_book.examples.running_example import CARRIED
from mhsa_lib import edit, masks, trace
from mhsa_lib.stages import maps_of

GRAMMAR = (
    ("the", "a"),
    ("animal", "child"),
    ("avoided", "crossed"),
    ("this", "the"),
    ("street", "river"),
    ("too", "so"),
)
LIVING, PLACE = ("tired", "hungry", "afraid"), ("wide", "deep", "muddy")
SENTENCES = [
    (*words, quality) for words in itertools.product(*GRAMMAR) for quality in (*LIVING, *PLACE)
]


def looked_at(head, words):
    """The place that every word has to look at."""
    if examples.HEADS[head] == "previous word":
        return [0, 0, 1, 2, 3, 4, 5]
    if examples.HEADS[head] == "what happened":
        return [2, 2, 1, 2, 2, 2, 2]
    return [0, 1, 0, 0, 4, 0, 1 if words[-1] in LIVING else 4]


def run(*sentences, **how):
    mha = examples.attention()
    with torch.no_grad(), trace(mha) as wires:
        mha(torch.stack([examples.embed(" ".join(words)) for words in sentences]), **how)
    return wires


def without(head):
    """y of both sentences with one head switched off."""
    mha = examples.attention()

    def off(z):
        z = z.clone()
        z[..., head, :, :] = 0
        return z

    with torch.no_grad(), edit(mha, "z", off):
        return mha(examples.sentences())


def test_every_word_looks_at_one_word_and_the_book_may_say_which():
    for b, words in enumerate(examples.SENTENCES):
        weights = examples.running()["weights"][b]
        assert weights.amax(dim=-1).min() >= 0.9979
        for head in range(3):
            assert weights[head].argmax(dim=-1).tolist() == looked_at(head, words)


def test_exchanging_names_keeps_every_job():
    assert len(SENTENCES) == 64 * 6
    weights = run(*SENTENCES)["weights"]
    assert weights.amax(dim=-1).min() >= 0.9979
    for words, maps in zip(SENTENCES, weights, strict=True):
        for head in range(3):
            assert maps[head].argmax(dim=-1).tolist() == looked_at(head, words), words


def test_the_first_map_flips_with_the_last_word_and_nothing_else_does():
    weights = examples.running()["weights"]
    tired, wide = weights[0, 0, 6], weights[1, 0, 6]
    assert_close(tired[[1, 4]], wide[[4, 1]])
    assert tired[1] > 0.99 > 0.01 > tired[4]
    assert_close(weights[0, 0, :6], weights[1, 0, :6], atol=1e-3, rtol=0)
    assert_close(weights[0, 1:], weights[1, 1:], atol=1e-3, rtol=0)


def named(row):
    return {name for name, value in zip(examples.COLUMNS, row, strict=True) if abs(value) > 0.1}


@pytest.mark.parametrize(
    ("head", "gone"),
    [(0, [{"noun", "living"}, {"noun", "place"}]), (1, [{"degree"}] * 2), (2, [{"verb"}] * 2)],
)
def test_a_head_that_is_switched_off_takes_its_job_from_the_last_word_and_nothing_else(
    head, gone
):
    lost = examples.running()["y"] - without(head)
    assert [named(row) for row in lost[:, 6]] == gone
    others = [i for i, name in enumerate(examples.COLUMNS) if name not in CARRIED[head]]
    assert_close(lost[..., others], torch.zeros(2, 7, len(others)))


def test_two_heads_write_into_one_column_of_one_word():
    noun, avoided = examples.COLUMNS.index("noun"), 2
    full = examples.running()["y"][0, avoided, noun]
    parts = [full - without(head)[0, avoided, noun] for head in range(3)]
    assert_close(full, torch.tensor(2.0), atol=0.01, rtol=0)
    assert_close(torch.stack(parts), torch.tensor([0.0, 1.0, 1.0]), atol=0.01, rtol=0)


def test_the_last_word_learns_who_is_meant_what_happened_and_what_stands_before_it():
    y = examples.running()["y"][:, 6]
    assert named(y[0]) == {"noun", "living", "verb", "degree"}
    assert named(y[1]) == {"noun", "place", "verb", "degree"}


def test_a_causal_mask_costs_the_animal_its_verb_and_leaves_the_flip():
    for words in examples.SENTENCES:
        full, masked = run(words)["weights"][0], run(words, mask=masks.causal)["weights"][0]
        assert_close(masked[:2, 6], full[:2, 6], atol=1e-6, rtol=0)
        assert full[2, 1, 2] > 0.99
        assert masked[2, 1].tolist() == pytest.approx([0.5, 0.5, 0, 0, 0, 0, 0])
        assert_close(masked[1], full[1], atol=0.01, rtol=0)  # the previous word is no future


def test_a_word_with_two_candidates_divides_its_weight():
    weights = run(("the", "child", "left", "the", "dog", "too", "hungry"))["weights"][0]
    assert weights[0, 6].tolist() == pytest.approx([0, 0.5, 0, 0, 0.5, 0, 0], abs=0.01)


def test_no_entry_is_large_and_no_map_has_a_bias():
    mha = examples.attention()
    assert max(W.weight.abs().max() for W in maps_of(mha).values()) < 5.2
    assert all(W.bias is None for W in maps_of(mha).values())
    assert not mha.training
