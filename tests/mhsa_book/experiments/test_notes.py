"""The experiment with notes: what its arms can do, and what its score is."""

import torch

from mhsa_book import examples
from mhsa_book.examples import notes as sentences
from mhsa_book.experiments import notes, trial
from mhsa_book.experiments.design import ANEW


def packed(drawn):
    return torch.cat([drawn.ids[..., None], drawn.notes], dim=-1)


def told_the_answer(model):
    """Set a head by hand as chapter 01 does: column 0 living, 1 place."""
    with torch.no_grad():
        for part in model.parameters():
            part.zero_()
        model.table.copy_(examples.meanings(sentences.WORDS))
        for i, kind in enumerate(("living", "place")):
            model.W_Q[examples.COLUMNS.index(kind), i] = 4
            model.W_K[examples.COLUMNS.index(kind), i] = 4
        model.W_K[examples.COLUMNS.index("quality"), :2] = -4
        if model.W_V is not None:
            model.W_V[notes.D_WORD :] = torch.eye(4)
    return model


def test_the_head_that_is_set_by_hand_explains_all_and_saying_0_explains_nothing():
    by_hand = told_the_answer(notes.OneHead(4))
    assert notes.explained(by_hand) > 0.98
    with torch.no_grad():
        by_hand.W_V.zero_()
    assert abs(notes.explained(by_hand)) < 0.1


def test_the_best_that_equal_weights_can_do_is_a_seventh():
    average = told_the_answer(notes.OneHead(4, looks=False))
    assert average.weights(*two_parts()).unique().tolist() == [torch.tensor(1 / 7).item()]
    assert abs(notes.explained(average) - 1 / 7) < 0.03


def two_parts():
    drawn = sentences.draw(3, torch.Generator().manual_seed(0))
    return drawn.ids, drawn.notes


def test_without_a_value_of_its_own_the_key_is_handed_over():
    torch.manual_seed(0)
    model = notes.OneHead(8, own_value=False)
    assert [name for name, _ in model.named_parameters()] == ["table", "W_Q", "W_K"]
    ids, carried = two_parts()
    k = model.rows(ids, carried) @ model.W_K
    wanted = (model.weights(ids, carried) @ k)[:, -1, :4]
    drawn = torch.cat([ids[..., None], carried], dim=-1)
    torch.testing.assert_close(model(drawn), wanted)


def test_it_is_trained_without_the_pairs_it_is_scored_on():
    tokens, wanted = notes.draw(torch.Generator().manual_seed(0))
    assert tokens.shape == (64, 7, 5)
    assert wanted.shape == (64, 4)
    for noun, quality in sentences.UNSEEN:
        a, b = sentences.ids_of(noun), sentences.ids_of(quality)
        assert not ((tokens[..., 0] == a).any(dim=1) & (tokens[:, 6, 0] == b)).any()


def test_the_error_is_taken_against_the_wanted_note():
    tokens, wanted = notes.draw(torch.Generator().manual_seed(0))
    assert notes.error(lambda _: wanted, tokens, wanted) == 0
    assert notes.error(lambda _: wanted + 2, tokens, wanted) == 4


def test_training_uses_that_error():
    curve = trial(notes.EXPERIMENT, notes.OWN, 0.05, 100, n_steps=320)
    assert curve.values[0] < 0.5
    assert curve.values[-1] > 0.9  # with the cross-entropy of targets this does not rise


def test_the_twin_differs_in_chance_alone():
    arms = notes.EXPERIMENT.arms
    assert {*arms} == {*notes.ARMS, notes.TWIN}
    assert arms[notes.TWIN].anew == ANEW
