"""Inputs of a wrong width, type or batch, and the words they get."""

import pytest
import torch

from mhsa_lib import ComposedAttention, LatentAttention, MultiHeadAttention, masks
from mhsa_lib.stages import Project
from tests.helpers.drawn import rand
from tests.mhsa_lib.errors.kinds import both

pytestmark = pytest.mark.bothways


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
