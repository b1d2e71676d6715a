"""Chapter 08: what the exercises on W_O let pass, and what they find."""

import torch

from mhsa_book import examples
from mhsa_book.exercises import check
from mhsa_book.exercises.output_projection import wrote_from


def changed(change):
    twin = examples.attention()
    with torch.no_grad():
        change(twin.project.W_V.weight, twin.W_O.weight)
    return check("w_o_twin", twin)


def test_a_pair_of_opposite_changes_is_a_twin():
    def rescaled(W_V, W_O):
        W_V[:4] *= 2
        W_O[:, :4] /= 2

    assert changed(rescaled)


def test_a_column_that_w_o_ignores_may_hold_anything():
    def filled(W_V, W_O):
        W_V[3, 1] = 1

    assert changed(filled)


def test_half_a_change_and_no_change_are_told_apart():
    assert "y is another one" in changed(lambda W_V, W_O: W_V[:4].mul_(2)).text
    assert "z of head 0" in changed(lambda W_V, W_O: None).text


def test_a_change_in_another_head_is_none_in_head_0():
    def filled(W_V, W_O):
        W_V[11, 1] = 1

    assert "z of head 0" in changed(filled).text


def test_exchanging_two_heads_is_not_praised():
    """y stays and z of head 0 is another one, but no head has changed."""
    twin, swapped = examples.attention(), [*range(4, 8), *range(4), *range(8, 12)]
    with torch.no_grad():
        for W in twin.project.children():
            W.weight.copy_(W.weight[swapped])
        twin.W_O.weight.copy_(twin.W_O.weight[:, swapped])
    verdict = check("w_o_twin", twin)
    assert verdict.state == "wrong"
    assert "under another number" in verdict.text


def test_what_heads_wrote_from_each_word_sums_to_y():
    wires, W_O = examples.running(), examples.attention().W_O.weight.detach().T
    wrote = wrote_from(wires["weights"], wires["v_heads"], W_O)
    assert torch.allclose(wrote.sum(dim=(1, 3)), wires["y"], atol=1e-5)
    noun, living = (examples.COLUMNS.index(name) for name in ("noun", "living"))
    assert wrote[0, 0, 6, 1, [noun, living]].round().tolist() == [1, 1]  # tired, from animal


def test_without_w_o_a_head_stays_in_its_own_part():
    assert check("without_w_o", (64, 0))
    assert "So it is with W_O" in check("without_w_o", (576, 576)).text


def test_what_the_head_writes_from_two_names_is_read_off_the_model():
    assert check("from_two_names", (" her", " his"))
    assert "other way round" in check("from_two_names", (" his", " her")).text
