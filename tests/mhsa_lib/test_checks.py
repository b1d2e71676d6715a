"""Errors that name the values, the rule and a repair. More of them: errors/."""

import pytest
import torch

from mhsa_lib import checks

MASK = torch.tensor(True)


def test_one_is_the_smallest_size():
    checks.positive(n_heads=1)
    with pytest.raises(ValueError, match=r"n_heads=0 is not a size; it must be at least 1\."):
        checks.positive(n_heads=0)


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize("size", [2.0, "2", True, None])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(TypeError, match=r"n_heads=.* is not a whole number; pass an int\."):
        checks.positive(n_heads=size)


def test_a_probability_is_at_least_0_and_less_than_1():
    checks.probability(dropout=0.0)
    checks.probability(dropout=0.999)
    for value in (1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match=f"dropout={value} is not a probability"):
            checks.probability(dropout=value)


def test_the_width_of_a_head_is_d_model_over_n_heads_or_free():
    assert checks.head_width(12, 3) == 4
    assert checks.head_width(10, 4, d_head=7) == 7


def test_a_width_that_does_not_divide_names_the_nearest_that_do():
    with pytest.raises(ValueError, match="try d_model=8 or d_model=12, or set d_head"):
        checks.head_width(10, 4)
    with pytest.raises(ValueError, match="d_model=10; try d_model=16, or set d_head"):
        checks.head_width(10, 16)


def test_the_repairs_that_are_proposed_work():
    assert checks.head_width(8, 4) == 2
    assert checks.head_width(12, 4) == 3
    assert checks.head_width(16, 16) == 1


def test_divides_is_exact_and_proposes_a_size_that_works():
    assert checks.divides(d_heads=12, n_heads=3) == 4
    with pytest.raises(
        ValueError, match="n_heads=3 does not divide d_heads=13; try n_heads=1 or n_heads=13"
    ):
        checks.divides(d_heads=13, n_heads=3)
    with pytest.raises(ValueError, match=r"try n_kv_heads=8 or n_kv_heads=16\."):
        checks.divides(n_heads=32, n_kv_heads=12)
    assert checks.divides(n_heads=32, n_kv_heads=8) == 4


def test_a_tensor_has_the_axes_it_is_to_have():
    checks.shaped("mixing", torch.zeros(3, 6), n_heads=3, d_shared=6)
    words = r"mixing has shape \(3, 5\), but n_heads=3 and d_shared=6; pass a tensor \(3, 6\)"
    with pytest.raises(ValueError, match=words):
        checks.shaped("mixing", torch.zeros(3, 5), n_heads=3, d_shared=6)
    with pytest.raises(TypeError, match=r"mixing is a list; pass a tensor \(3, 6\)"):
        checks.shaped("mixing", [], n_heads=3, d_shared=6)


@pytest.mark.parametrize("given", [[0.5, 1.0], [3, True], 3, None, torch.tensor([True])])
def test_whole_numbers_are_neither_fractions_nor_choices(given):
    assert checks.whole_numbers("ids", "one for each", [0, 1], "[0, 1]").tolist() == [0, 1]
    with pytest.raises(TypeError, match=r"ids are whole numbers, one for each, not .*; say"):
        checks.whole_numbers("ids", "one for each", given, "[0, 1]")


def test_tokens_are_rows_of_floating_point_numbers_of_one_width():
    checks.tokens("x", torch.zeros(5, 12), 12)
    checks.tokens("x", torch.zeros(2, 3, 5, 12, dtype=torch.float16), 12)
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(5, 8\), but d_model=12"):
        checks.tokens("x", torch.zeros(5, 8), 12)
    with pytest.raises(ValueError, match=r"x has shape \(12,\); it needs at least \(seq, 12\)"):
        checks.tokens("x", torch.zeros(12), 12)
    with pytest.raises(TypeError, match="x is a list; pass a tensor"):
        checks.tokens("x", [1.0], 12)


def test_token_ids_are_told_from_vectors():
    with pytest.raises(TypeError, match=r"dtype torch\.int64.*embed token ids first"):
        checks.tokens("x", torch.zeros(5, 12, dtype=torch.long), 12)


def test_x_and_context_may_differ_in_length_only():
    checks.same_batch(torch.zeros(2, 5, 8), torch.zeros(2, 7, 8))
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(\)"):
        checks.same_batch(torch.zeros(2, 5, 8), torch.zeros(7, 8))


@pytest.mark.parametrize("shape", [(), (7,), (5, 7), (5, 1), (1, 1, 1), (2, 1, 5, 7)])
def test_a_mask_may_broadcast(shape):
    checks.mask_fits(MASK.expand(shape), (2, 4, 5, 7))


@pytest.mark.parametrize("shape", [(5,), (7, 5), (3, 5, 7), (2, 5, 7), (1, 2, 4, 5, 7)])
def test_a_mask_may_not_enlarge_or_misalign(shape):
    with pytest.raises(ValueError, match=r"does not fit scores \(2, 4, 5, 7\), which are"):
        checks.mask_fits(MASK.expand(shape), (2, 4, 5, 7))


def test_the_repair_of_a_mask_is_the_one_that_fits():
    with pytest.raises(ValueError, match=r"use mask\[:, None, None, :\]"):
        checks.mask_fits(MASK.expand(2, 7), (2, 4, 5, 7))
    with pytest.raises(ValueError, match=r"use mask\[:, None\]"):
        checks.mask_fits(MASK.expand(2, 5, 7), (2, 4, 5, 7))
    checks.mask_fits(MASK.expand(2, 7)[:, None, None, :], (2, 4, 5, 7))
    checks.mask_fits(MASK.expand(2, 5, 7)[:, None], (2, 4, 5, 7))
