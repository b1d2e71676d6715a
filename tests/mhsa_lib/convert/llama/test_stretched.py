"""Positions scaled for long texts: the frequencies of the source at every length."""

import pytest
import torch
from torch.testing import assert_close
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention

from mhsa_lib import convert, masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import (
    KINDS,
    STRETCHED,
    TRAINED,
    both,
    rope,
    source,
    theirs,
    width,
)
from tests.mhsa_lib.convert.precision import close

TAKEN = [
    (kind, name)
    for kind in KINDS
    for name in STRETCHED
    if kind != "phi3"  # its configuration takes only longrope, which is refused
]


@pytest.mark.nohook  # other tests check these shapes, of fewer calls
@pytest.mark.parametrize(("kind", "name"), TAKEN)
@pytest.mark.parametrize("n", [5, TRAINED, TRAINED + 1, 40])
@both
def test_a_stretched_layer_gives_the_same_numbers_at_every_length(kind, name, n, dtype):
    module = source(kind, dtype, rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, n, width(module)).to(dtype)
    expected, _ = theirs(module, x)
    close(ours(x, mask=masks.causal), expected)
    if n == 40:
        ours.split.rotary.scaling = None
        assert (ours(x, mask=masks.causal) - expected).abs().max() > 1e-3


@pytest.mark.parametrize(
    "options",
    [
        {"truncate": False},
        {"attention_factor": 0.7},
        {"mscale": 1.0, "mscale_all_dim": 0.5},
        {"mscale": 0.8},
        {"factor": None},
        {"beta_fast": None, "beta_slow": None},
        {"factor": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt_oss"])
def test_every_number_of_yarn_is_read(kind, options):
    """Gemma 3's truncate stands among its kinds of layers, where theirs does not look."""
    options = {"rope_parameters": rope("yarn", **options), "max_position_embeddings": 24}
    module = source(kind, **options, d_head=12)
    ours, x = convert.from_llama(module), rand(2, 20, 12)
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_the_stretched_frequencies_of_llama_3_are_those_of_the_other_library():
    config = LlamaConfig(
        hidden_size=4096,
        num_attention_heads=32,
        max_position_embeddings=131_072,
        rope_parameters=rope("llama3")
        | {"rope_theta": 500_000.0, "original_max_position_embeddings": 8192},
    )
    expected, scaling = ROPE_INIT_FUNCTIONS["llama3"](config)
    with torch.device("meta"):
        module = LlamaAttention(config, 0)
    rotary = convert.from_llama(module, verify=False).split.rotary  # on meta
    assert scaling == 1.0
    assert_close(rotary.frequencies(), expected, rtol=2e-6, atol=0)
    plain = 500_000.0 ** (-torch.arange(64) / 64)
    slower = plain / rotary.frequencies()
    assert (slower[:29] - 1).abs().max() < 1e-5  # turn often: kept
    assert (slower[35:] - 8).abs().max() < 1e-4  # turn less than once in 8192 tokens
    assert ((slower[29:35] > 1) & (slower[29:35] < 8)).all()


@pytest.mark.parametrize("name", STRETCHED)
def test_older_names_in_a_configuration_are_read(name):
    """A checkpoint may say ``type``, and have ``rope_theta`` beside its parameters."""
    module, x = source("llama", rope_parameters=rope(name)), rand(2, 20, 12)
    expected = convert.from_llama(module)(x)
    module.config.rope_parameters = {"type": name, **STRETCHED[name]}
    module.config.rope_theta = 100.0
    before = dict(module.config.rope_parameters)
    close(convert.from_llama(module, verify=False)(x), expected)
    assert module.config.rope_parameters == before


def test_a_configuration_of_transformers_4_is_refused():
    class Old:
        rope_theta = 100
        max_position_embeddings = TRAINED
        rope_scaling = None

    module = source("llama")
    module.config = Old()
    words = r"Old has no rope_parameters .*; install transformers>=5 and load the model again\."
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)
