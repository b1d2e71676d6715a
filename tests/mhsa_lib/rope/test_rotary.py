"""Rotary positions: only the distance counts, and both pairings are one function."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from mhsa_lib.rope.rotary import (
    HALVES,
    INTERLEAVED,
    PartialRotary,
    Rotary,
    RotarySplit,
    reordered,
)
from mhsa_lib.rope.scaling import YarnScaling
from tests.helpers.drawn import mha, rand
from tests.mhsa_lib.rope.inputs import PAIRINGS, at, drawn, each

# --- the turn --------------------------------------------------------------------------------


def by_the_definition(row, position, pairs, base):
    """Every pair (a, b) of columns as the complex number a + ib, times e^(i · angle)."""
    turned = row.clone()
    for i, (a, b) in enumerate(pairs):
        angle = position * base ** (-2 * i / len(row))
        turned[a] = row[a] * math.cos(angle) - row[b] * math.sin(angle)
        turned[b] = row[a] * math.sin(angle) + row[b] * math.cos(angle)
    return turned


@pytest.mark.parametrize(
    ("pairing", "pairs"),
    [(INTERLEAVED, [(0, 1), (2, 3), (4, 5)]), (HALVES, [(0, 3), (1, 4), (2, 5)])],
    ids=list(PAIRINGS),
)
def test_it_is_the_definition_pair_by_pair(pairing, pairs):
    rows = rand(5, 6)
    found = Rotary(6, base=100.0, pairing=pairing)(rows, torch.arange(5))
    for t in range(5):
        assert_close(found[t], by_the_definition(rows[t], t, pairs, 100.0))


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 10_000), drawn)
def test_the_score_depends_on_the_distance_only(query, key, shift, pairing):
    rotary, (q, k) = Rotary(8, pairing=pairing), rand(2, 1, 8)
    score = rotary(q, at(query)) @ rotary(k, at(key)).mT
    moved = rotary(q, at(query + shift)) @ rotary(k, at(key + shift)).mT
    assert_close(score, moved, rtol=1e-7, atol=1e-7)


def test_and_it_does_depend_on_the_distance():
    rotary, (q, k) = Rotary(8), rand(2, 1, 8)
    scores = [(rotary(q, at(d)) @ rotary(k, at(0)).mT).item() for d in range(5)]
    assert len({round(score, 6) for score in scores}) == 5


@given(st.integers(0, 10_000), drawn)
def test_a_turn_changes_no_length_and_position_0_changes_nothing(position, pairing):
    rotary, rows = Rotary(6, pairing=pairing), rand(1, 6)
    assert_close(rotary(rows, at(position)).norm(), rows.norm())
    assert torch.equal(rotary(rows, at(0)), rows)


def test_every_sequence_may_have_positions_of_its_own():
    rotary, rows, positions = Rotary(4), rand(2, 3, 5, 4), torch.tensor([[0, 1, 2, 3, 4]] * 2)
    positions[1] += 7
    found = rotary(rows, positions[:, None])
    assert_close(found[0], rotary(rows[0], positions[0]))
    assert_close(found[1], rotary(rows[1], positions[1]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_far_positions_stay_apart_in_half_precision(dtype):
    """Counted in half precision, 4096 and 4097 would be the same number."""
    assert torch.tensor(4097).to(dtype) == torch.tensor(4096).to(dtype)
    rotary, row = Rotary(4, base=100.0), torch.ones(1, 4)
    found = rotary(row.to(dtype).expand(2, 4), at(4096, 4097))
    assert found.dtype is dtype
    expected = rotary(row.double().expand(2, 4), at(4096, 4097))
    assert (found.double() - expected).abs().max() < 4 * torch.finfo(dtype).eps
    assert (found[0] - found[1]).abs().max() > 0.5


@each
def test_it_equals_the_function_of_another_library(pairing):
    """Theirs turns halves; for neighbouring columns the same after reordering."""
    config = LlamaConfig(hidden_size=16, num_attention_heads=2, rope_theta=500.0)
    q, k = rand(2, 2, 7, 8).float(), rand(2, 2, 7, 8).float()
    positions = torch.arange(7).expand(2, 7)
    theirs = apply_rotary_pos_emb(q, k, *LlamaRotaryEmbedding(config)(q, positions))
    rotary = Rotary(8, base=500.0, pairing=pairing)
    for rows, expected in zip((q, k), theirs, strict=True):
        ours = rotary(reordered(rows, HALVES, pairing), torch.arange(7))
        assert_close(reordered(ours, pairing, HALVES), expected, rtol=1e-5, atol=1e-5)


def test_a_stretch_changes_the_frequencies():
    plain, slower = (Rotary(6, base=100.0, scaling=f) for f in (None, lambda given: given / 4))
    rows = rand(5, 6)
    assert_close(slower(rows, 4 * torch.arange(5)), plain(rows, torch.arange(5)))
    assert_close(slower.frequencies(), plain.frequencies() / 4)


def test_a_magnitude_is_a_factor_on_what_is_turned():
    scaling = YarnScaling(4.0, 100.0, 64, attention_factor=1.5)
    rotary, rows = Rotary(6, 100.0, scaling=scaling), rand(5, 6)
    assert_close(rotary(rows, torch.zeros(5).int()), 1.5 * rows)
    assert_close(rotary(rows, torch.arange(5)).norm(dim=-1), 1.5 * rows.norm(dim=-1))


@each
def test_a_part_of_the_columns_turns_and_the_others_stay(pairing):
    rows, scaling = rand(5, 7), YarnScaling(4.0, 100.0, 64)
    partial, whole = (cls(4, 100.0, pairing, scaling) for cls in (PartialRotary, Rotary))
    found = partial(rows, torch.arange(5))
    assert torch.equal(found[:, 4:], rows[:, 4:])
    assert torch.equal(found[:, :4], whole(rows[:, :4], torch.arange(5)))


def test_of_no_dimensions_none_rotates():
    rows, at = rand(5, 7), torch.arange(5)
    assert torch.equal(PartialRotary(0)(rows, at), rows)
    assert Rotary(0)(rows[:, :0], at).shape == (5, 0)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Rotary(5), "d_rotary=5 is odd; dimensions rotate in pairs, try d_rotary=6"),
        (lambda: Rotary(-2), "d_rotary=-2 is not a size; it must be at least 1"),
        (
            lambda: Rotary(4)(rand(5, 6), torch.arange(5)),
            r"rows are 6 wide, shape \(5, 6\), but d_rotary=4; the last axis must be d_rotary",
        ),
        (
            lambda: Rotary(4, 500.0, scaling=YarnScaling(4.0, base=100.0)),
            r"YarnScaling\(.*base=100.0.*\) does not fit base=500; make both with",
        ),
        (
            lambda: PartialRotary(4)(rand(5, 3), torch.arange(5)),
            r"rows are 3 wide, shape \(5, 3\), but d_rotary=4; the last axis must be d_rotary",
        ),
        (
            lambda: RotarySplit(6, Rotary(2), 4),
            "n_kv_heads=4 does not divide n_heads=6",
        ),
        (
            lambda: mha(split=RotarySplit(3, Rotary(2)))(rand(5, 12)),
            r"rows are 4 wide, shape \(3, 5, 4\), but d_rotary=2; the last axis must be",
        ),
    ],
)
def test_sizes_that_cannot_be(build, words):
    with pytest.raises(ValueError, match=words):
        build()
