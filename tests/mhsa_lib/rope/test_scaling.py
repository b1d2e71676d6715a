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
    LinearScaling,
    Llama3Scaling,
    YarnScaling,
    yarn_magnitude,
)
from tests.helpers.theirs import precisely

FACTOR = st.floats(1.0, 64.0)
PAIRS = st.integers(2, 32)
THETA = st.sampled_from([20.0, 10_000.0, 150_000.0, 1e6])
LENGTH = st.integers(2, 8192)


def same(width, theta, length, **rope):
    """Frequencies and magnitude: by their function and by ours."""
    rope = {"rope_theta": theta, "original_max_position_embeddings": length, **rope}
    config = LlamaConfig(
        hidden_size=width,
        num_attention_heads=1,
        head_dim=width,
        max_position_embeddings=length,
    )
    config.rope_parameters = rope
    with precisely(torch.float64):
        expected, magnitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
    found = rotary(config, width, HALVES)
    frequencies = found.frequencies(torch.float64)
    assert_close(frequencies, expected, rtol=1e-11, atol=0)
    assert getattr(found.scaling, "magnitude", 1.0) == pytest.approx(magnitude, rel=1e-12)


@given(PAIRS, THETA, FACTOR)
def test_linear(pairs, theta, factor):
    same(2 * pairs, theta, 64, rope_type="linear", factor=factor)


@given(PAIRS, THETA, FACTOR, LENGTH, st.floats(0.5, 2.0), st.floats(2.1, 8.0))
def test_llama3(pairs, theta, factor, length, low, high):
    given = {"factor": factor, "low_freq_factor": low, "high_freq_factor": high}
    same(2 * pairs, theta, length, rope_type="llama3", **given)


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
    same(2 * pairs, theta, length, rope_type="yarn", **given, **magnitude)


PLAIN = 100.0 ** (-torch.arange(8, dtype=torch.float64) / 8)


@pytest.mark.parametrize(
    "scaling",
    [
        LinearScaling(1.0),
        Llama3Scaling(1.0),
        YarnScaling(1.0, 100.0),
    ],
    ids=lambda scaling: type(scaling).__name__,
)
def test_each_changes_nothing_where_it_says_so(scaling):
    """A factor of 1."""
    assert_close(scaling(PLAIN), PLAIN)
    assert getattr(scaling, "magnitude", 1.0) == 1.0


def test_yarn_keeps_what_turns_often_and_slows_what_does_not():
    slower = PLAIN / YarnScaling(4.0, 100.0, length=200, fast=8.0, slow=2.0)(PLAIN)
    turns = 200 * PLAIN / (2 * math.pi)
    assert_close(slower[turns > 16], torch.ones_like(slower[turns > 16]))
    assert_close(slower[turns < 1], torch.full_like(slower[turns < 1], 4.0))
    assert (slower.diff() >= 0).all()


def test_a_magnitude_grows_with_the_logarithm():
    assert yarn_magnitude(math.e**10) == pytest.approx(2.0)
    assert yarn_magnitude(math.e**10, weight=0.5) == pytest.approx(1.5)
    assert YarnScaling(math.e**10).magnitude == pytest.approx(2.0)
    assert YarnScaling(math.e**10, attention_factor=0.7).magnitude == 0.7
