"""Stretched frequencies: those of the other library, for any numbers."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from mhsa_lib.convert.rope_config import rotary
from mhsa_lib.rope.rotary import HALVES
from mhsa_lib.rope.scaling import (
    DynamicScaling,
    LengthScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    PartialScaling,
    YarnScaling,
    yarn_magnitude,
)
from tests.helpers.theirs import precisely

FACTOR = st.floats(1.0, 64.0)
PAIRS = st.integers(2, 32)
THETA = st.sampled_from([20.0, 10_000.0, 150_000.0, 1e6])
LENGTH = st.integers(2, 8192)


def same(width, theta, length, n, **rope):
    """Frequencies and magnitude of a text of n tokens: by their function and by ours."""
    rope = {"rope_theta": theta, "original_max_position_embeddings": length, **rope}
    config = LlamaConfig(
        hidden_size=width,
        num_attention_heads=1,
        head_dim=width,
        max_position_embeddings=length,
    )
    config.rope_parameters = rope
    with precisely(torch.float64):
        expected, magnitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, seq_len=n)
    found = rotary(config, width, HALVES)
    frequencies = found.frequencies(torch.float64, length=torch.tensor([n]))
    assert_close(frequencies, expected, rtol=1e-11, atol=0)
    assert getattr(found.scaling, "magnitude", 1.0) == pytest.approx(magnitude, rel=1e-12)


@given(PAIRS, THETA, FACTOR)
def test_linear(pairs, theta, factor):
    same(2 * pairs, theta, 64, 99, rope_type="linear", factor=factor)


@given(PAIRS, THETA, FACTOR, st.floats(0.05, 1.0))
def test_proportional(pairs, theta, factor, share):
    given = {"factor": factor, "partial_rotary_factor": share}
    same(2 * pairs, theta, 64, 99, rope_type="proportional", **given)


@given(PAIRS, THETA, FACTOR, LENGTH, st.floats(0.1, 20.0))
def test_dynamic(pairs, theta, factor, length, times):
    n = max(1, int(times * length))
    same(2 * pairs, theta, length, n, rope_type="dynamic", factor=factor)


@given(PAIRS, THETA, FACTOR, LENGTH, st.floats(0.5, 2.0), st.floats(2.1, 8.0))
def test_llama3(pairs, theta, factor, length, low, high):
    given = {"factor": factor, "low_freq_factor": low, "high_freq_factor": high}
    same(2 * pairs, theta, length, 99, rope_type="llama3", **given)


@settings(max_examples=200)
@given(
    PAIRS,
    THETA,
    FACTOR,
    LENGTH,
    st.floats(4.0, 64.0),
    st.floats(0.1, 4.0),
    st.booleans(),
    st.sampled_from([{}, {"attention_factor": 0.8}, {"mscale": 1.0, "mscale_all_dim": 0.7}]),
)
def test_yarn(pairs, theta, factor, length, fast, slow, truncate, magnitude):
    given = {"factor": factor, "beta_fast": fast, "beta_slow": slow, "truncate": truncate}
    same(2 * pairs, theta, length, 99, rope_type="yarn", **given, **magnitude)


@given(PAIRS, THETA, FACTOR, LENGTH, st.sampled_from([-1, 0, 1, 1000]), st.data())
def test_longrope(pairs, theta, factor, length, more, data):
    divisors = st.lists(st.floats(0.5, 64.0), min_size=pairs, max_size=pairs)
    short, long = data.draw(divisors), data.draw(divisors)
    given = {"factor": factor, "short_factor": short, "long_factor": long}
    same(2 * pairs, theta, length, length + more, rope_type="longrope", **given)


PLAIN = 100.0 ** (-torch.arange(8, dtype=torch.float64) / 8)
LONG = torch.tensor([1_000_000])


@pytest.mark.parametrize(
    "scaling",
    [
        LinearScaling(1.0),
        PartialScaling(8),
        Llama3Scaling(1.0),
        YarnScaling(1.0, 100.0),
        DynamicScaling(4.0, 1_000_000),
        LongRopeScaling((1.0,) * 8, (1.0,) * 8, 64),
    ],
    ids=lambda scaling: type(scaling).__name__,
)
def test_each_changes_nothing_where_it_says_so(scaling):
    """A factor of 1; for the dynamic one a text as long as in training."""
    length = [LONG] if isinstance(scaling, LengthScaling) else []
    assert_close(scaling(PLAIN, *length), PLAIN)
    assert getattr(scaling, "magnitude", 1.0) == 1.0


def test_yarn_keeps_what_turns_often_and_slows_what_does_not():
    slower = PLAIN / YarnScaling(4.0, 100.0, length=200, fast=8.0, slow=2.0)(PLAIN)
    turns = 200 * PLAIN / (2 * math.pi)
    assert_close(slower[turns > 16], torch.ones_like(slower[turns > 16]))
    assert_close(slower[turns < 1], torch.full_like(slower[turns < 1], 4.0))
    assert (slower.diff() >= 0).all()


def test_the_slowest_pair_of_a_dynamic_text_just_fits():
    """Four times the length and a factor of 2: 2 · 4 - 1 times slower, the fastest stays."""
    found = DynamicScaling(2.0, 100)(PLAIN, torch.tensor([[100], [400]]))
    assert torch.equal(found[0], PLAIN)
    assert (PLAIN / found[1])[[0, -1]].tolist() == pytest.approx([1.0, 7.0])


def test_a_head_of_one_pair_turns_at_any_length():
    assert DynamicScaling(2.0, 8)(torch.ones(1), torch.tensor([99])).tolist() == [1.0]


def test_a_magnitude_grows_with_the_logarithm():
    assert yarn_magnitude(math.e**10) == pytest.approx(2.0)
    assert yarn_magnitude(math.e**10, weight=0.5) == pytest.approx(1.5)
    assert YarnScaling(math.e**10).magnitude == pytest.approx(2.0)
    assert YarnScaling(math.e**10, attention_factor=0.7).magnitude == 0.7


@pytest.mark.bothways
def test_divisors_that_do_not_fit():
    for short, long, plain in (
        ((1.0,), (1.0, 2.0), PLAIN[:2]),
        ((1.0,) * 2, (1.0, 2.0), PLAIN),
    ):
        words = (
            f"short has {len(short)} divisors and long {len(long)}, but {len(plain)} pairs "
            f"rotate; give both one for every pair"
        )
        with pytest.raises(ValueError, match=words):
            LongRopeScaling(short, long, 8)(plain, LONG)
