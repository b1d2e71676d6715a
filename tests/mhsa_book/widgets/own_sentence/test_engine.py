"""The page's MiniLM sees what PyTorch's sees, with any heads off, and in time."""

import math
import random

import pytest
import torch
import torch.nn.functional as F

from mhsa_book.widgets.own_sentence import quantise
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.engines import floats
from tests.mhsa_book.widgets.own_sentence import pytorch
from tests.mhsa_book.widgets.own_sentence.texts import ordinary

TIRED = "The animal didn't cross the street because it was too tired."
HEADS = [(layer, head) for layer in range(6) for head in range(12)]
SENTENCES = [TIRED, "Hi", "the cat saw the dog and the dog saw the cat", *ordinary(47)]
LARGEST, USUAL, ALIKE = 0.01, 0.002, 0.995
N_16, N_64 = " ".join(["word"] * 14), " ".join(["word"] * 62)


def compared(in_node, cases):
    """Differences of all weights, and cosines of vectors, over (text, heads that are off)."""
    differences, cosines = [], []
    for text, off in cases:
        (maps, vector), (expected, own) = in_node.run(text, off), pytorch.run(text, off)
        differences.append((maps - expected).abs().flatten())
        cosines.append((vector @ own).item())
    return torch.cat(differences), min(cosines)


def held(in_node, cases, report, what):
    found, alike = compared(in_node, cases)
    share = (found <= USUAL).double().mean().item()
    report(
        f"own sentence: {what}, {len(found):,} weights: at most {found.max():.4f} off, "
        f"{share:.2%} within {USUAL}; cosine of the vectors at least {alike:.6f}"
    )
    assert found.max() <= LARGEST
    assert share >= 0.99
    assert alike >= ALIKE


def test_the_reference_is_the_model_itself():
    maps, vector = pytorch.run(TIRED)
    torch.testing.assert_close(maps, quantise.MODEL().attend(TIRED)[1], atol=1e-5, rtol=0)
    mean = quantise.MODEL().vectors(TIRED)[1][-1].mean(dim=0)
    torch.testing.assert_close(vector, mean / mean.norm(), atol=1e-5, rtol=0)


def test_every_weight_is_near_pytorch_on_three_sentences(in_node, report):
    held(in_node, [(text, []) for text in SENTENCES[:3]], report, "3 sentences")


@pytest.mark.slow
def test_every_weight_is_near_pytorch_on_fifty(in_node, report):
    held(in_node, [(text, []) for text in SENTENCES], report, "50 sentences")


def drawn(n):
    """Any heads off, of one up to all; the same text again, so that passes are used again."""
    draws = random.Random(0)
    for _ in range(n):
        text = draws.choice(SENTENCES[:5])
        yield text, draws.sample(HEADS, k=draws.choice([1, 1, 2, 5, 12, 36, 72]))


def test_without_any_heads_it_does_what_pytorch_does(in_node, report):
    cases = [*drawn(12), (TIRED, [(0, 2)]), (TIRED, []), (TIRED, HEADS[-1:]), (TIRED, HEADS)]
    held(in_node, cases, report, f"{len(cases)} times with heads off")


@pytest.mark.slow
def test_so_it_does_for_each_of_the_72_and_many_draws(in_node, report):
    cases = [*[(TIRED, [head]) for head in HEADS], *drawn(100)]
    held(in_node, cases, report, f"{len(cases)} times with heads off, each head once alone")


def test_a_question_is_answered_as_the_passes_say(in_node):
    texts, off = SENTENCES[:2], [14, 40]
    whole, cut = (
        [in_node.run(text, [divmod(i, 12) for i in heads])[1] for text in texts]
        for heads in ([], off)
    )
    read = in_node.ask("read", texts[0], off)
    assert read["cosine"] == pytest.approx((whole[0] @ cut[0]).item(), abs=1e-6)
    assert read["tokens"] == quantise.MODEL().attend(texts[0])[0]
    both = in_node.ask("pair", *texts, off)
    assert both["cosine"] == pytest.approx((cut[0] @ cut[1]).item(), abs=1e-6)
    one, two = (in_node.run(text, [(2, 9)])[1] for text in texts)
    assert in_node.ask("effect", texts[:1], 33) == pytest.approx((one @ whole[0]).item())
    assert in_node.ask("effect", texts, 33) == pytest.approx((one @ two).item())


def test_tokens_of_two_texts_are_compared_by_their_vectors(in_node):
    one, two = SENTENCES[0], SENTENCES[2]
    found = floats(in_node.ask("pair", one, two, [])["pairs"])
    a, b = (quantise.MODEL().vectors(text)[1][-1] for text in (one, two))
    a, b = (rows / rows.norm(dim=-1, keepdim=True) for rows in (a, b))
    torch.testing.assert_close(found.reshape(len(a), len(b)), a @ b.T, atol=0.01, rtol=0)


def test_numbers_of_12_bits_come_back_as_the_nearest_step():
    torch.manual_seed(0)
    matrix = torch.cat(
        [torch.randn(3, 8) * 10 ** torch.arange(-2, 1)[:, None], torch.zeros(1, 8)]
    )
    steps = matrix.abs().amax(dim=1, keepdim=True) / quantise.LARGEST
    assert ((quantise.unpacked(matrix) - matrix).abs() <= steps / 2 + 1e-9).all()


def test_norm_and_gelu_are_those_of_torch():
    torch.manual_seed(0)
    x, weight, bias = torch.randn(3, 8), torch.randn(8), torch.randn(8)
    x[1] *= 1e-6  # here eps counts
    norm = {"weight": weight.tolist(), "bias": bias.tolist()}
    normed, gelu = node(
        "own_sentence/engine/rows",
        ("normed", x.flatten().tolist(), norm, 1e-12),
        ("gelu", x.flatten().tolist()),
    )
    expected = F.layer_norm(x, (8,), weight, bias, eps=1e-12)
    torch.testing.assert_close(torch.tensor(normed).reshape(3, 8), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(torch.tensor(gelu).reshape(3, 8), F.gelu(x), atol=1e-6, rtol=0)


@pytest.mark.parametrize("x", [-6.0, -1.5, -0.3, 0.0, 1e-4, 0.3, 0.9, 2.0, 6.0])
def test_erf_is_erf(x):
    (found,) = node("own_sentence/engine/rows", ("erf", x))
    assert found == pytest.approx(math.erf(x), abs=2e-7)


def test_the_arrow_turns_by_the_angle_of_the_cosine():
    cosines = [1.0, 0.979, 0.5, 0.0, -0.3, -1.0, 1.0000001]
    found = node("own_sentence/arrows", *(("angleOf", cosine) for cosine in cosines))
    angles = [math.degrees(math.acos(min(1, cosine))) for cosine in cosines]
    assert found == pytest.approx(angles)
    (told,) = node("own_sentence/arrows", ("turned", 0.5, 3))
    assert "Without 3 heads the sentence vector has turned by 60°" in told


def test_a_reader_does_not_wait_long(in_node, report):
    for text in (N_16, N_64, f"{N_64} other"):
        in_node.run(text)  # compiled, as after the first sentence
    times = {}
    for n, text in ((16, N_16), (64, N_64)):
        in_node.ask("read", f"{text[:-4]}cat", [])
        times[n] = in_node.took
    texts, effects = [TIRED], []
    for head in range(72):
        in_node.ask("effect", texts, head)
        effects.append(in_node.took)
    report(
        f"own sentence: {1000 * times[16]:.0f} ms for 16 tokens, {1000 * times[64]:.0f} ms for "
        f"64, {sum(effects):.1f} s for each of the 72 heads off, {in_node.ask('unpacked'):.0f} "
        f"ms to unpack; {len(quantise.asset().data) / 1e6:.1f} MB"
    )
    assert times[16] < 2  # 0.1 s on a quiet machine
    assert times[64] < 8
    assert sum(effects) < 60
