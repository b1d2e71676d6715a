"""The page's language model sees and says what Python's does, with any heads off."""

import base64
from statistics import median

import pytest
import torch

from mhsa_book.widgets.language_model_lab import stored
from mhsa_book.widgets.language_model_lab.answers import Answers
from mhsa_book.widgets.packed import unpacked
from tests.mhsa_book.widgets.language_model_lab.prompts import FIVE, TWENTY, WRITTEN

NEAR = 0.005
"""Of probabilities and weights; what is found is a thousandth of that."""

SIXTEEN = list(range(1000, 1016))
NAME_MOVERS = [23 * 9 + 3, 20 * 9, 18 * 9, 19 * 9 + 2, 17 * 9 + 4, 16 * 9]


def lower(maps):
    """Weights (…, query, key) of keys up to the query, one after the other."""
    rows, columns = torch.tril_indices(*maps.shape[-2:])
    return maps[..., rows, columns]


def compare(in_node, lm, prompts, report):
    words, maps = [], []
    for text in prompts:
        logits, seen = in_node.run(lm.ids(text))
        expected = lm.logits(text)[-1].softmax(dim=-1)
        words.append((logits.softmax(dim=-1) - expected).abs().max().item())
        maps.append((seen - lower(lm.attend(text)[1])).abs().max().item())
        assert logits.argmax() == expected.argmax()
    report(
        f"language model: {len(prompts)} prompts, next words at most {max(words):.1e} off, "
        f"all 270 maps at most {max(maps):.1e}"
    )
    assert max(words) < NEAR
    assert max(maps) < NEAR


def write_on(in_node, lm, text, n):
    """So many tokens, or as many as there are up to the end of the text."""
    logits, _ = in_node.run(lm.ids(text))
    written, (end,) = [], lm.ids("<|im_end|>")
    while len(written) < n and (chosen := int(logits.argmax())) != end:
        written.append(chosen)
        logits, _ = in_node.run(written[-1:], further=True)
    return lm._tokenizer.text(written)


def test_next_words_and_all_maps_are_python_s_on_five_prompts(in_node, lm, report):
    compare(in_node, lm, FIVE, report)


@pytest.mark.slow
def test_next_words_and_all_maps_are_python_s_on_twenty_prompts(in_node, lm, report):
    compare(in_node, lm, TWENTY, report)


@pytest.mark.parametrize("n", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_it_writes_what_python_writes(in_node, lm, n):
    for text in WRITTEN[: 1 if n == 10 else 3]:
        assert write_on(in_node, lm, text, n) == lm.generate(text, n)


@pytest.mark.parametrize("off", [[0], NAME_MOVERS, list(range(270))], ids=len)
def test_without_heads_it_says_what_python_says(in_node, lm, off):
    logits, maps = in_node.run(lm.ids(FIVE[0]), off)
    with lm.without([divmod(head, 9) for head in off]):
        expected, weights = lm.logits(FIVE[0])[-1], lm.attend(FIVE[0])[1]
    assert (logits.softmax(dim=-1) - expected.softmax(dim=-1)).abs().max() < NEAR
    assert (maps - lower(weights)).abs().max() < NEAR


def test_a_mean_stands_for_a_head_as_python_measures_it(in_node, lm):
    found = in_node.ask("answer", "read", FIVE[0], NAME_MOVERS[:2], "mean")
    with lm.without([divmod(head, 9) for head in NAME_MOVERS[:2]], "mean", stored.lines()):
        expected = lm.next(FIVE[0], 10)
    assert [each["text"] for each in found["next"]] == [word for word, _ in expected]
    for each, (_, p) in zip(found["next"], expected, strict=True):
        assert each["p"] == pytest.approx(p, abs=NEAR)


def test_what_is_not_computed_again_is_as_if_it_were(in_node, lm):
    """Heads of any layers in turn, on and off; layers before the first change are kept."""
    for off in ([200], [200, 40], [40], [], [269], [0, 269], [269]):
        found = in_node.ask("answer", "read", FIVE[1], off, "zero")
        logits, _ = in_node.run(lm.ids(FIVE[1]), off)
        p = logits.double().softmax(dim=-1)  # of 49,152 float32 the sum is 4e-6 off
        top = p.topk(10)
        assert [each["id"] for each in found["next"]] == top.indices.tolist()
        assert [each["p"] for each in found["next"]] == pytest.approx(
            top.values.tolist(), abs=1e-6
        )


def test_a_page_hears_what_a_kernel_would_say(in_node, lm):
    """Every answer of the worker beside that of its twin in Python."""
    twin = Answers(lm, stored.means())

    def same(ask, *about):
        mine, theirs = in_node.ask("answer", ask, *about), getattr(twin, ask)(*about)
        for one, other in zip(mine.pop("next"), theirs.pop("next"), strict=True):
            assert (one["id"], one["text"]) == (other["id"], other["text"])
            assert one["p"] == pytest.approx(other["p"], abs=1e-4)
            whole = other["whole"] and pytest.approx(other["whole"], abs=1e-4)
            assert one["whole"] == whole
        assert mine == theirs

    assert in_node.ask("answer", "read", "", [], "zero") is None
    assert twin.read("", [], "zero") is None
    same("read", FIVE[0], [], "zero")
    same("read", FIVE[0], NAME_MOVERS, "zero")
    mine, theirs = in_node.ask("answer", "adds"), twin.adds()
    for one, other in zip(mine, theirs, strict=True):
        assert one["text"] == other["text"]
        for part in ("heads", "fed", "embedded", "logit"):
            assert one[part] == pytest.approx(other[part], abs=1e-3)
    same("more")
    same("more")
    mine, theirs = in_node.ask("answer", "look"), twin.look()
    assert mine["tokens"] == theirs["tokens"]
    mine["weights"] = base64.b64decode(mine["weights"])
    assert (unpacked(mine) - unpacked(theirs)).abs().max() < 1e-4


def test_parts_sum_to_the_logit(in_node, lm):
    in_node.run(lm.ids(FIVE[0]), NAME_MOVERS)
    logits, _ = in_node.run(lm.ids(FIVE[0]))
    for token in (" Mary", " John"):
        (parts,) = in_node.ask("adds", [lm.id(token)])
        total = sum(parts["heads"]) + sum(parts["fed"]) + parts["embedded"]
        assert total == pytest.approx(logits[lm.id(token)].item(), abs=1e-3)


def test_without_webassembly_the_same_comes_out(started, in_node, lm, report):
    plain = started(simd=False)
    assert not plain.ask("about")["wasm"]
    assert in_node.ask("about")["wasm"]
    ids = lm.ids(FIVE[1])
    (logits, maps), (expected, weights) = plain.run(ids), in_node.run(ids)
    assert (logits - expected).abs().max() < 1e-3
    assert (maps - weights).abs().max() < 1e-4
    for name, node in (("WebAssembly", in_node), ("plain JavaScript", plain)):
        prompt = node.ask("timed", SIXTEEN, False)
        word = median(node.ask("timed", [1000], True) for _ in range(3))
        report(
            f"language model, {name}: 16 tokens in {prompt / 1000:.2f} s, a further one in "
            f"{word / 1000:.3f} s; float32 in plain loops {node.ask('float32'):.2f} GMAC/s; "
            f"{node.ask('about')['memory'] / 1e6:.0f} MB"
        )
