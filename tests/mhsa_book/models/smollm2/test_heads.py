"""What is known to be in it: heads that say who gets the drink, and some that object."""

from itertools import permutations

import pytest

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes

GIFT = "When Mary and John went to the store, John gave a drink to"
OVER = [
    f"When {one} and {other} went to the store, {giver} gave a drink to"
    for one, other in permutations(["Mary", "John", "Tom", "Anna"], 2)
    for giver in (one, other)
]
SIX = [(23, 3), (20, 0), (18, 0), (19, 2), (17, 4), (16, 0)]
AGAINST = [(29, 0), (24, 4), (23, 1)]


def says(lm, text=GIFT):
    return dict(lm.next(text, 20))


def test_without_six_heads_john_gets_the_drink_and_after_that_mary_again(lm):
    before = says(lm)
    with lm.without(SIX, how="mean", over=OVER):
        assert next(iter(says(lm))) == " John"
        assert lm.generate(GIFT, 1) == lm.generate(GIFT, 1, cache=False) == " John"
    assert says(lm) == before


def test_without_three_others_she_is_certain(lm):
    with lm.without(AGAINST, how="mean", over=OVER):
        assert says(lm)[" Mary"] > 0.97


def test_six_others_of_the_same_layers_change_little(lm):
    others = [(layer, (head + 4) % 9) for layer, head in SIX]
    assert not {*others} & {*SIX, *AGAINST}
    with lm.without(others, how="mean", over=OVER):
        assert says(lm)[" Mary"] > 0.85


@pytest.mark.parametrize("token", [" Mary", " John"])
def test_contributions_sum_to_the_logit(token, lm):
    shares = lm.contributions(GIFT, token)
    total = shares.embedding + shares.heads.sum().item() + shares.mlps.sum().item()
    assert total == pytest.approx(shares.logit, abs=1e-4)
    assert shares.logit == pytest.approx(lm.logits(GIFT)[-1, lm.id(token)].item(), abs=1e-5)


def test_the_head_that_looks_at_mary_argues_against_her(lm):
    mary, john = (lm.contributions(GIFT, name).heads for name in (" Mary", " John"))
    for_mary = mary - john
    assert for_mary.argmax().item() == 23 * 9 + 3
    assert for_mary[24, 4] < -0.5


def test_the_path_from_the_strongest_head_to_the_logits_carries_who_gave(lm):
    swapped = "When Mary and John went to the store, Mary gave a drink to"
    mary, john = lm.id(" Mary"), lm.id(" John")

    def difference(logits):
        return (logits[mary] - logits[john]).item()

    patched = {head: difference(lm.patch(swapped, GIFT, head, "logits")) for head in SIX[:2]}
    whole = difference(lm.logits(GIFT)[-1])
    assert patched[23, 3] < whole - 5
    assert patched[20, 0] == pytest.approx(whole, abs=0.2)
