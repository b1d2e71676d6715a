"""A trace says what each wire was made of, and needs no gradients for it."""

from contextlib import nullcontext

import pytest
import torch

from mhsa_lib import masks, trace
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import mha, rand

FLOW = {
    "q": {"x"},
    "k": {"x"},
    "v": {"x"},
    "q_heads": {"q"},
    "k_heads": {"k"},
    "v_heads": {"v"},
    "scores": {"q_heads", "k_heads"},
    "weights": {"scores"},
    "z": {"weights", "v_heads"},
    "concat": {"z"},
    "y": {"concat"},
}


def sources(wires):
    return {wire: set(step.sources) for wire, step in wires.steps.items()}


@pytest.mark.parametrize("mode", [nullcontext, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_in_every_mode_and_without_numbers(mode, device):
    attention = mha().to(device)
    with mode(), trace(attention) as wires:
        for n in (3, 5):  # a second pass starts anew
            attention(rand(2, n, 12).to(device), mask=masks.causal)
    assert sources(wires) == FLOW


def test_a_context_and_a_mask_are_sources_too():
    attention, mask = mha(), torch.ones(2, 3, dtype=torch.bool)
    with trace(attention) as wires:
        attention(rand(2, 12), rand(3, 12), mask=mask)
    keys = {"k": {"context"}, "v": {"context"}, "weights": {"scores", "mask"}}
    assert sources(wires) == FLOW | keys


def test_what_a_cache_keeps_is_made_of_the_new_rows_and_old_ones():
    attention = mha()
    with kv_cache(attention), trace(attention) as wires:
        for token in rand(3, 1, 12):
            attention(token, mask=masks.causal)
    assert sources(wires) == FLOW


def test_a_stage_of_your_own_is_followed():
    attention = mha()
    attention.attend.score = lambda q, k: q.mean(-1, keepdim=True) + 0 * (k @ k.mT)[..., :1, :]
    with trace(attention) as wires:
        attention(rand(2, 12))
    assert sources(wires) == FLOW
    attention.attend.score = lambda q, k: q @ q.mT  # keys are never asked
    with trace(attention) as wires:
        attention(rand(2, 12))
    assert sources(wires) == FLOW | {"scores": {"q_heads"}}
