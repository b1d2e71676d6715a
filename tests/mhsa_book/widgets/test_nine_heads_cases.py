"""What the first page stores of SmolLM2-135M, against our own pass through the same weights.

The file was made with transformers; here the five stages run, with z edited.
"""

from contextlib import ExitStack

import numpy as np
import pytest
import torch

from mhsa_book import models
from mhsa_book.widgets.nine_heads.cases import before, chances, stored, weights
from mhsa_book.widgets.nine_heads.words import AGAINST, FOR, JOBS, WALKS
from mhsa_lib import edit, trace
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
    return models.load("SmolLM2-135M")


@pytest.fixture(scope="module")
def means(lm):
    """Mean z of every layer over the prompts that the file names, (head, position, d_head)."""
    seen = {layer: [] for layer, _ in HEADS}
    for prompt in stored()["over"]:
        with ExitStack() as stack:
            wires = {a: stack.enter_context(trace(lm.attention(a))) for a in seen}
            lm.next(prompt, k=1)
            for layer, found in wires.items():
                seen[layer].append(found["z"][0])
    return {layer: torch.stack(all_z).mean(dim=0) for layer, all_z in seen.items()}


def computed(lm, means, case):
    """Chances of the shown words, and where the last word attends, (head, key)."""
    off = made.off_in(case)

    def change(layer):
        def of_z(z):
            z = z.clone()
            for k in off:
                if HEADS[k][0] == layer:
                    z[:, HEADS[k][1]] = means[layer][HEADS[k][1]]
            return z

        return of_z

    with ExitStack() as stack:
        for layer in {HEADS[k][0] for k in off}:
            stack.enter_context(edit(lm.attention(layer), "z", change(layer)))
        found = lm.logits(made.PROMPT)[-1].softmax(dim=-1)
        maps = lm.attend(made.PROMPT)[1]
    ids = [lm.id(f" {word}") for word in stored()["words"]]
    return found[ids].numpy(), torch.stack([maps[a, b, -1] for a, b in HEADS]).numpy()


def compare(lm, means, cases):
    for case in cases:
        off = made.off_in(case)
        found, rows = computed(lm, means, case)
        np.testing.assert_allclose(chances(off)[:-1], found, atol=1e-4, rtol=0)
        shown = np.stack([weights(k, off) for k in range(len(HEADS))])
        np.testing.assert_allclose(shown, rows, atol=0.5 / 255 + 1e-4, rtol=0)


def test_some_of_the_512_cases_are_those_of_our_own_pass(lm, means):
    compare(lm, means, SOME)


@pytest.mark.slow
def test_all_512_cases_are_those_of_our_own_pass(lm, means):
    compare(lm, means, ALL)


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
    assert stored()["over"] == made.prompts()
    assert len(set(made.prompts())) == 28
    assert {len(lm.tokens(p)) for p in made.prompts()} == {len(TOKENS)}
    said = [p.replace(",", "").split() for p in made.prompts()]
    names = [(words[1], words[3], words[8]) for words in said]
    assert not {"Mary", "John"} & {name for three in names for name in three}
    for name in made.NAMES:
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
    # "the model names him. L24H4 has turned to him, too"
    assert chances(four).argmax() == JOHN
    assert TOKENS[most(L24H4)[0]] == "Mary"
    assert TOKENS[most(L24H4, four)[0]] == "John"
    # "the names are level"
    assert abs(chances(six)[MARY] - chances(six)[JOHN]) < 0.02
    # "he is far ahead"
    assert chances(nine)[JOHN] > 6 * chances(nine)[MARY]
    # "all but certain"
    assert chances(three)[MARY] > 0.99


def test_the_three_argue_against_whoever_leads():
    assert chances(AGAINST)[MARY] > chances()[MARY]
    assert chances(FOUR + AGAINST)[JOHN] > chances(FOUR)[JOHN] + 0.4
    for leader, off in ((MARY, []), (JOHN, FOUR)):
        assert chances([*off, L24H4])[leader] > chances(off)[leader]


def test_each_head_does_what_its_line_says():
    by_name = {f"L{a}H{b}": k for k, (a, b) in enumerate(HEADS)}
    giver = 9  # the second John, who gives
    told = [k for k, job in enumerate(JOBS) if "who is giving" in job]
    assert [most(k)[0] for k in told] == [giver] * 3
    sharp, too, less = (most(k)[1] for k in told)
    assert less < min(sharp, too)
    alone = [chances([k])[MARY] for k in range(len(HEADS))]
    assert int(np.argmin(alone)) == by_name["L23H3"]
    assert most(by_name["L18H0"])[1] < 0.25
    rests = by_name["L17H4"]
    assert most(rests)[0] == 0
    assert most(rests, [], giver)[0] == TOKENS.index("John") + 1
    earlier = [most(by_name["L16H0"], [], q)[0] for q in range(1, LAST + 1)]
    assert earlier == list(range(LAST))
    assert most(by_name["L29H0"])[0] == LAST
    names = weights(by_name["L23H1"])[[1, 3, 9]].sum()
    assert names > 0.8
    assert "argues against" in JOBS[L24H4]
