"""What was asked when all else was known comes out again, one text at a time."""

import random
from contextlib import ExitStack

import pytest
import torch
from scipy import stats

from mhsa_book import models
from mhsa_book.experiments import mary_follow_up as follow_up
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.experiments import whose_heads_name_mary as mary
from mhsa_book.results import mary_follow_up as results
from mhsa_book.results import who_gets_the_drink as drink_results
from mhsa_book.results import whose_heads_name_mary as first
from mhsa_book.results.who_gets_the_drink import head as read_name
from mhsa_lib.tracing import edit, trace
from tests.helpers.toward import toward

pytestmark = pytest.mark.nohook  # 30 layers a pass; tests of small models check shapes

TEMPLATE, AT = "school", 3


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.fixture(scope="module")
def found():
    return results.kept()


@pytest.fixture(scope="module")
def asked():
    """The prompt, its source, and the two names."""
    _, pair, third = mary.pairs_of(TEMPLATE)[AT]
    return drink.prompt(TEMPLATE, pair), drink.prompt(TEMPLATE, pair, third), pair


def lead(lm, logits, pair):
    right, wrong = (lm.id(f" {name}") for name in pair)
    return float(logits[-1, right] - logits[-1, wrong])


@pytest.mark.parametrize("head", ["L23H3", "L24H4", "L23H1"])
def test_what_the_source_writes_in_place_of_a_head(lm, found, asked, head):
    text, source, pair = asked
    layer, number = read_name(head)
    z = lm.heads(source)[layer, number, -1]
    wrote = float(z @ toward(lm, text, pair, layer, number))
    assert wrote == pytest.approx(found.stand_ins[TEMPLATE][first.SOURCE][head][AT], abs=0.02)
    assert found.stand_ins[TEMPLATE][first.ZERO][head][AT] == 0


def test_what_its_own_term_changes_is_the_stand_in_less_the_head(found):
    numbers = first.kept()
    written = [v for t in mary.TEMPLATES for v in numbers.watched[t]["direct"]["L24H4"]]
    at_zero = found.replaced(numbers, "L24H4", first.ZERO)
    assert at_zero.mean == pytest.approx(-sum(written) / 32)
    instead = [v for t in mary.TEMPLATES for v in found.stand_ins[t][first.SOURCE]["L24H4"]]
    at_source = found.replaced(numbers, "L24H4", first.SOURCE)
    assert at_source.mean == pytest.approx((sum(instead) - sum(written)) / 32)
    assert at_source.mean > at_zero.mean + 0.2


def test_ranks_inside_layers_are_scipys():
    numbers, lab_1 = first.kept(), drink_results.kept()
    seen, by_layer = numbers.watched["store"], []
    for layer in range(30):
        names = [f"L{layer}H{head}" for head in range(9)]
        effect = [abs(lab_1.alone(head).mean) for head in names]
        by_layer.append(stats.spearmanr([seen["length"][h] for h in names], effect).statistic)
    found = follow_up.inside_layers(numbers, lab_1)
    assert found["the length of its z"] == pytest.approx(sum(by_layer) / 30)


def test_what_a_head_writes_with_three_others_off(lm, found, asked):
    text, _, pair = asked
    with lm.without(follow_up.OFF, "mean", drink.sources(TEMPLATE, drink.BOTH)):
        right, wrong = (lm.contributions(text, f" {name}").heads[24, 4] for name in pair)
    stored = found.turned[TEMPLATE]["L24H4"][AT]
    assert float(right - wrong) == pytest.approx(stored, abs=0.02)


def test_a_lie_to_several_heads_at_once(lm, found, asked):
    """Their queries are made with every earlier head held; the layer then gets their z."""
    text, source, pair = asked
    held = lm.heads(text)
    with trace(lm.attention(23)) as before:
        whole = lead(lm, lm.logits(text), pair)
    held[20, 0, -1] = lm.heads(source)[20, 0, -1]
    with ExitStack() as stack:
        for i in range(23):
            stack.enter_context(edit(lm.attention(i), "z", held[i].view_as))
        lied = stack.enter_context(trace(lm.attention(23)))
        lm.logits(text)
    heads = [0, 1, 2]
    q = lied["q_rotated"][0, heads, -1]
    k, v = (before[wire][0, 0] for wire in ("k_rotated", "v_heads"))
    z = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1) @ v

    def put(true):
        changed = true.clone()
        changed[0, heads, -1] = z
        return changed

    with edit(lm.attention(23), "z", put):
        changes = lead(lm, lm.logits(text), pair) - whole
    assert changes == pytest.approx(found.together[TEMPLATE][follow_up.TOLD[0]][AT], abs=0.02)


@pytest.mark.parametrize("head", follow_up.LAST)
def test_what_a_head_writes_of_single_tokens(lm, found, asked, head):
    text, _, pair = asked
    layer, number = read_name(head)
    with trace(lm.attention(layer)) as wires:
        tokens, weights = lm.attend(text)
    v = wires["v_heads"][0, number // 3]
    written = (weights[layer, number, -1, :, None] * v) @ toward(lm, text, pair, layer, number)
    stored = {place: values[AT] for place, values in found.by_key[TEMPLATE][head].items()}
    of_names = sum(float(written[i]) for i, each in enumerate(tokens) if each[1:] in pair)
    assert float(written[-1]) == pytest.approx(stored["the last token"], abs=0.02)
    assert of_names == pytest.approx(stored["the names"], abs=0.02)
    assert float(written.sum()) == pytest.approx(sum(stored.values()), abs=0.02)


def test_six_drawn_heads_off(lm, found, asked):
    text, _, pair = asked
    among = [head for head in mary.named() if head[0] > 0]
    for n, (heads, stored) in enumerate(found.drawn[TEMPLATE].items()):
        off = [*map(read_name, heads.split())]
        assert off == sorted(random.Random(n).sample(among, 6))
        with lm.without(off, "mean", drink.sources(TEMPLATE, drink.BOTH)):
            assert lead(lm, lm.logits(text), pair) == pytest.approx(stored[AT], abs=0.03)


def test_it_measures_the_sentences_of_the_first_run(found):
    """Taken together, what a head writes by key is what it writes."""
    before = first.kept()
    for template in mary.TEMPLATES:
        for head in follow_up.LAST:
            by_key = torch.tensor([*found.by_key[template][head].values()]).sum(dim=0)
            stored = torch.tensor(before.watched[template]["direct"][head])
            assert (by_key - stored).abs().max() < 0.01


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="mary_follow_up"):
        results.kept(tmp_path / "none.json")
