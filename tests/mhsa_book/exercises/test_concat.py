"""Chapter 07: what the exercises on concat let pass, and what they find."""

import pytest
import torch

from mhsa_book import examples
from mhsa_book.exercises import check
from mhsa_book.exercises.concat import JOINED, MixedConcat, MixedSplit
from mhsa_lib.functional import concat_heads

X = examples.sentences()[0]


def by_order(layer):
    return not torch.allclose(layer(X.flip(0)), layer(X).flip(0), atol=1e-5)


def by_batch(layer):
    """Reverse the sentences and not the words: the two mistakes never cross sentences."""
    both = examples.sentences()
    return not torch.allclose(layer(both.flip(0)), layer(both).flip(0), atol=1e-5)


def test_another_order_within_a_row_can_be_repaired_and_other_words_cannot():
    assert check("repairable", {"C", "D"})
    assert "part them" in check("repairable", {"B", "C", "D"}).text
    assert "another order" in check("repairable", {"D"}).text


def test_the_four_tables_of_the_exercise_are_made_as_it_says():
    z = torch.arange(1.0, 9).view(2, 2, 2)
    made = {name: join(z).int().tolist() for name, join in JOINED.items()}
    assert made == {
        "A": [[1, 2, 5, 6], [3, 4, 7, 8]],
        "B": [[1, 2, 3, 4], [5, 6, 7, 8]],
        "C": [[1, 5, 2, 6], [3, 7, 4, 8]],
        "D": [[5, 6, 1, 2], [7, 8, 3, 4]],
    }


def test_reordering_the_words_finds_all_mistakes():
    assert check("mixes_up", by_order)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda layer: False, "a concat that merges without the exchange, it says False"),
        (lambda layer: True, "three heads, all right, it says True"),
        (by_batch, "it says False"),
        (lambda layer: None, "True or False"),
        (True, "a function of a layer"),
    ],
)
def test_a_test_that_finds_too_little_or_too_much_is_told_the_layer(answer, said):
    assert said in check("mixes_up", answer).text


def test_looking_for_the_future_does_not_find_both_mistakes_at_once():
    """Chapter 04's test of a split, one changed word under a causal mask, is not enough."""
    from mhsa_lib import masks

    def leaks(layer):
        changed = torch.cat([X[:-1], X[-1:] + 1])
        before, after = (layer(x, mask=masks.causal)[:-1] for x in (X, changed))
        return not torch.equal(before, after)

    assert "both mistakes at once, it says False" in check("mixes_up", leaks).text


def test_two_words_of_one_stretch_may_change_places_unseen():
    def by_the_first_two(layer):
        swapped = [1, 0, 2, 3, 4, 5, 6]
        return not torch.allclose(layer(X[swapped]), layer(X)[swapped], atol=1e-5)

    said = check("mixes_up", by_the_first_two).text
    assert "both mistakes at once, it says False" in said
    assert "head 0 holds words 0, 1" in said


def test_the_wrong_merge_gives_tired_a_place_and_the_animal_to_avoided():
    mha, z = examples.attention(), examples.running()["z"]
    right, wrong = (mha.W_O(rows)[0].round() for rows in (concat_heads(z), MixedConcat()(z)))
    living, place = (examples.COLUMNS.index(name) for name in ("living", "place"))
    assert right[6, [living, place]].tolist() == [1, 0]
    assert wrong[6, [living, place]].tolist() == [0, 1]
    assert torch.equal(MixedConcat()(z)[0, 2, :4], z[0, 0, 6])


def test_the_mistakes_cancel_in_a_round_trip_and_only_there():
    rows = torch.arange(84.0).view(7, 12)
    cut = MixedSplit(3)(rows, rows, rows)[0]
    assert torch.equal(MixedConcat()(cut), rows)
    assert not torch.equal(concat_heads(cut), rows)
