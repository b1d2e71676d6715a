"""What the first page stores of SmolLM2-135M, against our own pass through the same weights.

The file was made with transformers; here the five stages run, and ``LanguageModel.without``
switches the heads off, which a reader can do as well.
"""

from functools import cache

import numpy as np
import pytest
import torch

from mhsa_book import models
from mhsa_book.examples.giving import NAMES, giving_sentences
from mhsa_book.widgets.nine_heads.cases import before, chances, stored, weights
from mhsa_book.widgets.nine_heads.words import AGAINST, FOR, JOBS, WALKS
from tools.build import nine_heads as made

HEADS, TOKENS = stored()["heads"], stored()["tokens"]
MARY, JOHN = 0, 1
FOUR, LAST = FOR[:4], len(TOKENS) - 1
L24H4 = HEADS.index([24, 4])

SOME = [
    0b000001111,
    0b000111111,
    0b111111111,
    0b111000000,
    0b010001011,
    0b100110000,
    0b001000101,
]
ALL = range(2 ** len(HEADS))


@pytest.fixture(scope="module")
def lm():
    """The model. What heads find in the prompts is measured once: with all on, in any case."""
    lm = models.load("SmolLM2-135M")
    measured = cache(lm._runner.heads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lm._runner, "heads", lambda ids: measured(tuple(ids)))
        yield lm


def computed(lm, case):
    """Chances of the shown words, and where the last word attends, (head, key)."""
    off = [tuple(HEADS[k]) for k in made.off_in(case)]
    with lm.without(off, how="mean", over=stored()["over"]):
        found = lm.logits(made.PROMPT)[-1].softmax(dim=-1)
        maps = lm.attend(made.PROMPT)[1]
    ids = [lm.id(f" {word}") for word in stored()["words"]]
    return found[ids].numpy(), torch.stack([maps[a, b, -1] for a, b in HEADS]).numpy()


def compare(lm, cases):
    for case in cases:
        off = made.off_in(case)
        found, rows = computed(lm, case)
        np.testing.assert_allclose(chances(off)[:-1], found, atol=1e-4, rtol=0)
        shown = np.stack([weights(k, off) for k in range(len(HEADS))])
        np.testing.assert_allclose(shown, rows, atol=0.5 / 255 + 1e-4, rtol=0)


def test_some_of_the_512_cases_are_those_of_without(lm):
    compare(lm, SOME)


@pytest.mark.slow
def test_all_512_cases_are_those_of_without(lm):
    compare(lm, ALL)


def test_with_every_head_on_it_is_what_the_model_says(lm):
    said = dict(lm.next(made.PROMPT, k=100))
    found = dict(zip(stored()["words"], chances(), strict=False))
    for word, p in found.items():
        assert p == pytest.approx(said[f" {word}"], abs=1e-4)
    assert [t.strip() for t in lm.tokens(made.PROMPT)] == TOKENS
    maps = lm.attend(made.PROMPT)[1]
    for k, (layer, head) in enumerate(HEADS):
        for query in range(LAST):
            row = maps[layer, head, query, : query + 1].numpy()
            np.testing.assert_allclose(
                weights(k, [], query), row, atol=0.5 / 255 + 1e-4, rtol=0
            )


def test_the_prompts_of_the_mean_favour_no_name_and_no_order(lm):
    prompts = giving_sentences()
    assert stored()["over"] == prompts
    assert len(set(prompts)) == 28
    assert {len(lm.tokens(p)) for p in prompts} == {len(TOKENS)}
    said = [p.replace(",", "").split() for p in prompts]
    names = [(words[1], words[3], words[8]) for words in said]
    assert not {"Mary", "John"} & {name for three in names for name in three}
    for name in NAMES:
        as_first = sum(first == name for first, _, _ in names)
        as_second = sum(second == name for _, second, _ in names)
        as_giver = sum(giver == name for _, _, giver in names)
        assert (as_first, as_second, as_giver) == (2, 2, 2)


def test_only_heads_in_lower_layers_change_where_a_head_attends():
    assert before(HEADS.index([16, 0])) == []
    assert sorted(before(L24H4)) == [0, 1, 2, 3, 4, 5, 8]


# --- the story ------------------------------------------------------------------------------


def most(k, off=(), query=None):
    row = weights(k, off, query)
    return int(row.argmax()), float(row.max())


def test_the_buttons_say_what_the_numbers_say():
    four, six, nine, three, none = (off for _, off, _ in WALKS)
    assert (none, four, six, three) == ([], FOUR, FOR, AGAINST)
    assert sorted(nine) == list(range(9))
    assert chances(none)[MARY] > 0.9
    # "Mary is just ahead, because L24H4 now looks at John and pushes him down"
    assert 0 < chances(four)[MARY] - chances(four)[JOHN] < 0.1
    assert chances([*four, L24H4]).argmax() == JOHN
    assert TOKENS[most(L24H4)[0]] == "Mary"
    assert TOKENS[most(L24H4, four)[0]] == "John"
    # "the model names John"
    assert chances(six).argmax() == JOHN
    # "he is far ahead"
    assert chances(nine)[JOHN] > 6 * chances(nine)[MARY]
    # "all but certain"
    assert chances(three)[MARY].round(2) == 0.99


def test_each_of_the_six_keeps_john_down_and_mary_up():
    for k in FOR:
        assert chances([k])[JOHN] > chances()[JOHN]
        assert chances([k])[MARY] < chances()[MARY]


def test_the_three_together_hold_back_whoever_leads_and_one_of_them_helps_mary():
    assert chances(AGAINST)[MARY] > chances()[MARY]
    assert chances(FOUR + AGAINST)[JOHN] > chances(FOUR)[JOHN] + 0.4
    for leader, off in ((MARY, []), (JOHN, FOR)):
        assert chances(off).argmax() == leader
        assert chances([*off, L24H4])[leader] > chances(off)[leader]
    helps = next(k for k, job in enumerate(JOBS) if "helps Mary a little" in job)
    assert 0.01 < chances()[MARY] - chances([helps])[MARY] < 0.05


@pytest.mark.parametrize(("off", "leader"), [([], "Mary"), (FOUR, "John"), (FOR, "John")])
def test_l24h4_finds_the_name_that_leads_so_far(lm, off, leader):
    reads = lm._runner.layers[24].attention_norm
    streams = []
    with lm.without([HEADS[k] for k in off], how="mean", over=stored()["over"]):
        hook = reads.register_forward_pre_hook(lambda module, x: streams.append(x[0]))
        lm.logits(made.PROMPT)
        hook.remove()
    so_far = lm._runner.decoder.unembed(streams[-1])[0, -1]
    names = {name: float(so_far[lm.id(f" {name}")]) for name in ("Mary", "John")}
    assert max(names, key=names.__getitem__) == leader
    assert TOKENS[most(L24H4, off)[0]] == leader


def test_each_head_does_what_its_line_says():
    by_name = {f"L{a}H{b}": k for k, (a, b) in enumerate(HEADS)}
    giver = 9  # the second John, who gives
    told = [k for k, job in enumerate(JOBS) if "who is giving" in job]
    assert [most(k)[0] for k in told] == [giver] * 3
    sharp, too, less = (most(k)[1] for k in told)
    assert less < min(sharp, too)
    moved = [abs(chances([k])[MARY] - chances()[MARY]) for k in range(len(HEADS))]
    assert [k for k, job in enumerate(JOBS) if "matters most" in job] == [np.argmax(moved)]
    assert most(by_name["L18H0"])[1] < 0.25
    rests = by_name["L17H4"]
    assert most(rests)[0] == 0
    assert most(rests, [], giver)[0] == TOKENS.index("John") + 1
    earlier = [most(by_name["L16H0"], [], q)[0] for q in range(1, LAST + 1)]
    assert earlier == list(range(LAST))
    assert most(by_name["L29H0"])[0] == LAST
    names = weights(by_name["L23H1"])[[1, 3, 9]].sum()
    assert names > 0.8
    assert "pushes it down" in JOBS[L24H4]
