"""Latent attention is the formulas of its paper, positions included."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_lib import masks
from mhsa_lib.rope.rotary import HALVES, Rotary
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.latent.layers import latent


def rms_norm(row, gain):
    return row / (row.square().mean() + 1e-6).sqrt() * gain


def turned(row, position):
    """Neighbouring columns as complex numbers, times exp(i · angle)."""
    n = len(row) // 2
    angles = position * 10_000 ** (-torch.arange(n).double() / n)
    product = torch.view_as_complex(row.reshape(n, 2).clone()) * torch.polar(
        torch.ones(n).double(), angles
    )
    return torch.view_as_real(product).flatten()


def by_the_paper(mla, x, d_latent, d_nope, d_head):
    """One token, one head, one earlier token at a time; returns the outputs."""
    project, split, n_heads = mla.project, mla.split, mla.n_heads
    d_rope = project.rotary.d_rotary
    down, W_Q = project.W_DKV.weight, project.W_Q
    c_KV = [rms_norm(down[:d_latent] @ row, project.norm.weight) for row in x]
    k_R = [turned(down[d_latent:] @ row, t) for t, row in enumerate(x)]
    c_Q = [rms_norm(W_Q.W_DQ.weight @ row, W_Q.norm.weight) for row in x]
    y = []
    for t in range(len(x)):
        heads = []
        q_all = (W_Q.W_UQ.weight @ c_Q[t]).view(n_heads, d_nope + d_rope)
        for i in range(n_heads):
            q_C, q_R = q_all[i, :d_nope], turned(q_all[i, d_nope:], t)
            W_UK = split.W_UK.weight[i * d_nope : (i + 1) * d_nope]
            W_UV = split.W_UV.weight[i * d_head : (i + 1) * d_head]
            scores = (
                torch.stack([q_C @ (W_UK @ c_KV[s]) + q_R @ k_R[s] for s in range(t + 1)])
                / (d_nope + d_rope) ** 0.5
            )
            weights = scores.softmax(0)
            heads.append(sum(weights[s] * (W_UV @ c_KV[s]) for s in range(t + 1)))
        y.append(mla.W_O.weight @ torch.cat(heads))
    return torch.stack(y)


@pytest.mark.parametrize(
    ("d_latent", "d_nope", "d_head"),
    [(5, 4, 4), (5, 6, 3), (5, 1, 5), (13, 4, 4)],  # the last is wider than the model
)
def test_the_formulas_of_the_paper(d_latent, d_nope, d_head):
    sizes = {"d_q_latent": d_latent + 2, "d_nope": d_nope, "d_head": d_head}
    mla = latent(12, 3, d_latent, 4, **sizes)
    x = rand(6, 12)
    expected = by_the_paper(mla, x, d_latent, d_nope, d_head)
    for form in (mla, AbsorbedLatentAttention(mla)):
        assert (form(x, mask=masks.causal) - expected).abs().max().item() <= 1e-10


def test_only_the_rotary_columns_know_positions():
    x, order = rand(2, 6, 12), torch.randperm(6)
    unordered, ordered = latent(12, 3, 5, 0), latent(12, 3, 5, 2)
    assert_close(unordered(x[:, order]), unordered(x)[:, order])
    assert not torch.allclose(ordered(x[:, order]), ordered(x)[:, order])


@pytest.mark.parametrize("rotary", [Rotary, lambda d_rope: Rotary(d_rope, 100.0, HALVES)])
def test_only_distances_matter(rotary):
    mla, x = latent(12, 3, 5, 4, rotary=rotary), rand(6, 12)
    project, split = mla.project, mla.split
    z = []
    for start in (0, 100):
        places = start + torch.arange(6)
        heads = split(*project(x, x, positions=places), positions=places)
        z.append(mla.attend(*heads, masks.causal))
    assert_close(z[0], z[1])


def test_a_linear_map_of_their_width_starts_near_the_paper():
    assert round(nn.Linear(7168, 64).weight.std().item(), 4) == 0.0068
