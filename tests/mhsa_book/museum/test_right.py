"""The right parts are the library's attention: wrong ones differ from something true."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.museum import problems
from mhsa_book.museum.parts import RIGHT, Setting, run, step_by_step
from mhsa_book.museum.problems import D_MODEL, inputs
from mhsa_lib import masks
from mhsa_lib.rope import HALVES, Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention


def ours(setting: Setting, given, **stages) -> GroupedQueryAttention:
    """The library's attention with the same numbers."""
    model = GroupedQueryAttention(
        D_MODEL, setting.n_heads, setting.n_kv_heads, bias=True, **stages
    )
    with torch.no_grad():
        for name in "QKV":
            linear = getattr(model.project, f"W_{name}")
            linear.weight.copy_(getattr(given.W, name))
            linear.bias.copy_(getattr(given.W, f"bias_{name}"))
        model.W_O.weight.copy_(given.W.O)
        model.W_O.bias.zero_()
    return model


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("causal", [True, False])
def test_without_positions_it_is_the_library_s_attention(n_kv_heads, causal):
    setting = Setting(n_kv_heads=n_kv_heads, positions="none", causal=causal)
    given = inputs(setting)
    mask = given.real[:, None, None, :]
    if causal:
        mask = mask & masks.causal.dense(8, 8)
    assert_close(run(RIGHT, setting, given).output, ours(setting, given)(given.x, mask=mask))


@pytest.mark.parametrize("positions", ["rotary", "alibi", "relative", "none"])
def test_word_by_word_gives_the_same_rows(positions):
    setting = Setting(positions=positions)
    given = inputs(setting, lengths=False)
    at_once = run(RIGHT, setting, given).output
    for n_first in (1, 3, 8):
        found = step_by_step(RIGHT, setting, given, n_first=n_first).output
        assert_close(found, at_once)


def test_rotary_positions_are_the_library_s():
    setting = Setting()
    given = inputs(setting, lengths=False)
    rotary = Rotary(D_MODEL // setting.n_heads, pairing=HALVES)
    model = ours(setting, given, split=RotarySplit(setting.n_heads, rotary))
    assert_close(run(RIGHT, setting, given).output, model(given.x, mask=masks.causal))


def test_problems_draw_the_same_numbers_each_time():
    assert torch.equal(problems.a_pass(RIGHT, Setting()), problems.a_pass(RIGHT, Setting()))
