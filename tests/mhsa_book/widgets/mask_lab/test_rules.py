"""Masks, weights and leaks in the page are those of the library and of PyTorch."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_book.widgets.mask_lab import LONGEST, RULES
from mhsa_lib import functional
from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.mask_lab.random_masks import random_cases


def assert_near(rows, wanted):
    found = torch.tensor(rows, dtype=wanted.dtype)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


def test_every_preset_is_the_mask_of_the_library():
    sizes = range(1, LONGEST + 1)
    cases = [(kind, n, size) for kind in RULES for n in range(1, LONGEST + 1) for size in sizes]
    calls = [("maskOf", kind, n, [], size) for kind, n, size in cases]
    for (kind, n, size), found in zip(cases, node("mask_lab/rules", *calls), strict=True):
        wanted = RULES[kind](n).dense(size, size).reshape(size, size)
        assert found == wanted.tolist(), (kind, n, size)


def test_weights_under_any_mask_are_those_of_pytorch():
    cases = list(random_cases())
    assert any((~mask.any(dim=-1)).any() for _, mask in cases)
    calls = [("softmax", scores.tolist(), mask.tolist()) for scores, mask in cases]
    for (scores, mask), found in zip(cases, node("shared/tensor", *calls), strict=True):
        wanted = functional.softmax(scores[None], mask[None])[0]
        assert_near(found, wanted)


def test_the_mistake_of_ones_and_zeros_is_what_sdpa_does_with_them():
    cases = list(random_cases())
    found = node("mask_lab/rules", *[("nudged", s.tolist(), m.tolist()) for s, m in cases])
    for (scores, mask), weights in zip(cases, found, strict=True):
        size = len(scores)
        q, eye = scores[None], torch.eye(size, dtype=scores.dtype)[None]
        wanted = sdpa(q, eye, eye, attn_mask=mask.double(), scale=1.0)[0]
        assert_near(weights, wanted)


def test_what_leaks_is_the_mean_weight_on_forbidden_pairs():
    cases = list(random_cases())
    weights = [torch.softmax(scores, dim=-1) for scores, _ in cases]
    calls = [("leak", w.tolist(), m.tolist()) for w, (_, m) in zip(weights, cases, strict=True)]
    for w, (_, mask), found in zip(weights, cases, node("mask_lab/rules", *calls), strict=True):
        assert found == pytest.approx((w * ~mask).sum(dim=-1).mean().item(), abs=1e-9)
