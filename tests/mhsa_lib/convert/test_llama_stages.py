"""Caps, sinks and norms: each stage by its formula, and plain where it changes nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import functional, masks, trace
from mhsa_lib.llama_stages import CappedAttend, GemmaNorm, NormedProject, SinkAttend
from mhsa_lib.stages import Project
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled, rand


def grouped(**stages):
    return filled(GroupedQueryAttention(12, 6, 2, **stages).double())


def test_capped_scores_stay_below_the_cap_and_in_their_order():
    attention = grouped(attend=CappedAttend(10.0, cap=1.5))
    with trace(attention) as wires:
        attention(rand(2, 5, 12))
    scores = wires["scores"]
    raw = functional.score(wires["q_heads"], functional.share_heads(wires["k_heads"], 6), 10.0)
    assert raw.abs().max() > 3
    assert scores.abs().max() <= 1.5
    assert_close(scores, 1.5 * (raw / 1.5).tanh())
    assert_close(wires["weights"], torch.softmax(scores, dim=-1))


@given(st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_with_sinks_a_row_is_a_softmax_over_one_more_key(n_heads, n, masked):
    attention = GroupedQueryAttention(12, n_heads, 1, d_head=4, attend=SinkAttend(0.5, n_heads))
    attention, mask = filled(attention.double()), masks.causal if masked else None
    with trace(attention) as wires:
        attention(rand(n, 12), mask=mask)
    scores = wires["scores"]
    if masked:
        scores = scores.masked_fill(~masks.causal.dense(n, n), float("-inf"))
    e, sink = scores.exp(), attention.attend.sinks.exp()[:, None, None]
    assert_close(wires["weights"], e / (e.sum(dim=-1, keepdim=True) + sink))


def test_a_huge_sink_takes_everything_and_no_number_is_lost():
    attention = grouped(attend=SinkAttend(1.0, 6))
    with torch.no_grad():
        attention.attend.sinks.fill_(1e4)
    assert torch.equal(attention(rand(2, 5, 12)), torch.zeros(2, 5, 12).double())


@pytest.mark.parametrize("sink", [0.3, float("-inf")])
def test_a_query_that_sees_nothing_gets_nothing_and_finite_gradients(sink):
    attention, x = grouped(attend=SinkAttend(1.0, 6)), rand(2, 5, 12).requires_grad_()
    with torch.no_grad():
        attention.attend.sinks.fill_(sink)
    y = attention(x, mask=masks.padding([5, 2]))
    assert torch.equal(y[1, 2:], torch.zeros(3, 12).double())
    y.square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in attention.parameters())


@pytest.mark.parametrize("shape", [(5,), (5, 5), (1, 5), (5, 1), (2, 1, 5, 5), (2, 6, 1, 5)])
def test_sinks_take_masks_of_every_shape(shape):
    attention, x, mask = grouped(attend=SinkAttend(1.0, 6)), rand(2, 5, 12), rand(*shape) > 0
    whole = mask.expand(2, 6, 5, 5)
    assert_close(attention(x, mask=mask), attention(x, mask=whole))


def test_norms_of_all_heads_come_before_the_split():
    project = NormedProject(12, 12, 4, q_norm=nn.RMSNorm(12), k_norm=nn.RMSNorm(4))
    attention, x = grouped(project=project), rand(2, 5, 12)
    plain = Project(12, 12, 4).double()
    plain.load_state_dict(project.state_dict(), strict=False)
    q, k, v = plain(x, x)
    found = attention.project(x, x)
    for rows, normed, norm in ((q, found[0], project.q_norm), (k, found[1], project.k_norm)):
        size = (rows.square().mean(dim=-1, keepdim=True) + torch.finfo(rows.dtype).eps).sqrt()
        assert_close(normed, rows / size * norm.weight)
    assert torch.equal(found[2], v)


def test_the_gain_of_gemmas_norm_is_one_more_than_its_weight():
    norm, rows = filled(GemmaNorm(6, eps=0.1).double()), rand(5, 6)
    size = (rows.square().mean(dim=-1, keepdim=True) + 0.1).sqrt()
    assert_close(norm(rows), rows / size * (1 + norm.weight))
    assert "(6,), eps=0.1" in repr(norm)


def test_they_say_what_they_are():
    assert repr(CappedAttend(0.5, 50.0)).startswith("CappedAttend(\n  scale=0.5, cap=50")


@pytest.mark.bothways
def test_sizes_that_cannot_be():
    for cap in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=f"cap={cap} caps no score; give a number above"):
            CappedAttend(0.5, cap)
    with pytest.raises(ValueError, match="n_heads=0 is not a size"):
        SinkAttend(0.5, 0)
