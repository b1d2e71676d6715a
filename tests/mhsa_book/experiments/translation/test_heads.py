"""Heads are switched off where they are named, and what stands there instead is as promised."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments.translation import (
    KINDS,
    Head,
    by_mean,
    by_resampling,
    by_zero,
    head_outputs,
    heads_of,
    without,
)
from mhsa_book.transformer import PAD, shifted
from mhsa_lib import trace
from tests.mhsa_book.experiments.translation.small import PAIRS, model

MODEL = model()
SOURCE, TARGET = language.batch(PAIRS)
GIVEN, WANTED = shifted(TARGET)
HEADS = heads_of(MODEL)


def z_of(head):
    with trace(MODEL.get_submodule(head.path)) as wires:
        MODEL(SOURCE, GIVEN)
    return wires["z"][:, head.head]


def test_there_are_as_many_heads_as_the_model_has():
    assert len(HEADS) == len(set(HEADS)) == 3 * 2 * 2
    assert [str(head) for head in heads_of(MODEL, "cross-attention")] == [
        *("cross L0H0", "cross L0H1", "cross L1H0", "cross L1H1"),
    ]
    assert heads_of(MODEL, *reversed(KINDS)) == HEADS  # in the order in which they run


def test_each_kind_is_found_where_it_stands():
    attentions = [layer.self_attention for layer in MODEL.encoder]
    attentions += [layer.self_attention for layer in MODEL.decoder]
    attentions += [layer.cross_attention for layer in MODEL.decoder]
    found = [MODEL.get_submodule(head.path) for head in HEADS[::2]]
    assert all(one is other for one, other in zip(found, attentions, strict=True))


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_one_head_is_off_and_the_others_of_its_layer_are_not(head):
    before = z_of(head._replace(head=1 - head.head))
    with without(MODEL, [head]):
        assert not z_of(head).any()
        assert_close(z_of(head._replace(head=1 - head.head)), before, rtol=0, atol=0)
    assert z_of(head).any()


def test_off_is_what_the_output_would_be_without_the_rows_of_its_head():
    (attention,) = [layer.cross_attention for layer in MODEL.decoder[1:]]
    d_head = 12 // 2
    kept = attention.W_O.weight.clone()
    with without(MODEL, [Head("cross-attention", 1, 0)]):
        off = MODEL(SOURCE, GIVEN)
    attention.W_O.weight[:, :d_head] = 0
    by_hand = MODEL(SOURCE, GIVEN)
    attention.W_O.weight.copy_(kept)
    assert_close(off, by_hand)


def test_two_heads_of_one_attention_and_one_of_another_are_off_together():
    off = [HEADS[0], HEADS[1], HEADS[-1]]
    with without(MODEL, off):
        assert not any(z_of(head).any() for head in off)
        assert all(z_of(head).any() for head in HEADS if head not in off)


def test_what_was_seen_are_the_real_tokens_of_both_sides():
    found = head_outputs(MODEL, PAIRS)
    words = {"encoder": int((SOURCE != PAD).sum()), "decoder": int((WANTED != PAD).sum())}
    assert words == {"encoder": 4 + 7 + 6, "decoder": sum(len(p.words) + 1 for p in PAIRS)}
    for head in HEADS:
        side = "encoder" if head.kind.startswith("encoder") else "decoder"
        assert found[head].shape == (words[side], 6)
        real = (SOURCE if side == "encoder" else WANTED) != PAD
        assert_close(found[head], z_of(head)[real])


def test_the_mean_is_the_mean_and_is_put_everywhere():
    found = head_outputs(MODEL, PAIRS)
    for head in (HEADS[0], HEADS[-1]):
        with without(MODEL, [head], by_mean(found)):
            z = z_of(head)
        assert_close(z, found[head].sum(dim=0).div(len(found[head])).expand_as(z))


def test_a_resampled_token_is_one_that_was_seen_and_the_draw_can_be_repeated():
    found, head = head_outputs(MODEL, PAIRS), HEADS[3]
    draws = []
    for seed in (0, 0, 1):
        with without(MODEL, [head], by_resampling(found, seed)):
            draws.append(z_of(head))
    rows = {tuple(row) for row in found[head].tolist()}
    drawn = {tuple(row) for row in draws[0].flatten(0, 1).tolist()}
    assert drawn <= rows
    assert len(drawn) > len(rows) / 2
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_two_heads_draw_different_tokens():
    found = head_outputs(MODEL, PAIRS)
    same = {HEADS[0]: found[HEADS[0]], HEADS[1]: found[HEADS[0]]}
    with without(MODEL, HEADS[:2], by_resampling(same)):
        assert not torch.equal(z_of(HEADS[0]), z_of(HEADS[1]))


def test_nothing_is_left_behind_and_nothing_is_off_where_nothing_is_named():
    whole = MODEL(SOURCE, GIVEN)
    with without(MODEL, HEADS, by_zero):
        assert not torch.equal(MODEL(SOURCE, GIVEN), whole)
    with without(MODEL, []):
        assert torch.equal(MODEL(SOURCE, GIVEN), whole)
    assert torch.equal(MODEL(SOURCE, GIVEN), whole)


@pytest.mark.bothways
def test_a_head_that_is_not_there_and_a_kind_that_is_none_are_named():
    with (
        pytest.raises(ValueError, match=r"no head cross L2H0; it has \(encoder L0H0"),
        without(MODEL, [Head("cross-attention", 2, 0)]),
    ):
        pass
    with pytest.raises(ValueError, match="'cross' is no kind of attention; choose from"):
        heads_of(MODEL, "cross")
