"""Latent attention: the paper's formulas, the absorbed form, what is kept, costs, bad input."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, masks, trace
from mhsa_lib.cache.remembering import remember
from mhsa_lib.convert.to_absorbed import AbsorbedLatentAttention
from mhsa_lib.costs import variant_costs
from mhsa_lib.rope.pairing import HALVES
from mhsa_lib.rope.rotary import Rotary
from mhsa_lib.stages import Split
from mhsa_lib.trace.difference import Difference
from mhsa_lib.variants import LatentAttention, MultiQueryAttention
from tests.helpers.drawn import filled, rand


def latent(*sizes, **options) -> LatentAttention:
    """In float64, with biases and gains that are far from where they start."""
    return filled(LatentAttention(*sizes, **options).double())


@st.composite
def cases(draw):
    """An attention of any widths, and how it was built."""
    torch.manual_seed(draw(st.integers(0, 10_000)))
    size = st.integers(1, 5)
    sizes = {
        "d_model": draw(st.integers(5, 9)),
        "n_heads": draw(st.integers(1, 3)),
        "d_latent": draw(size),
        "d_rope": 2 * draw(st.integers(0, 2)),
    }
    widths = {
        "d_q_latent": draw(st.none() | size),
        "d_head": draw(size),
        "d_nope": draw(st.none() | size),
    }
    return latent(**sizes, **widths, bias=draw(st.booleans())), sizes | widths


# --- the paper, section 2.1, written out -----------------------------------------------------


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


@pytest.mark.parametrize(("d_nope", "d_head"), [(4, 4), (6, 3), (1, 5)])
def test_the_formulas_of_the_paper(d_nope, d_head):
    mla = latent(12, 3, 5, 4, d_q_latent=7, d_nope=d_nope, d_head=d_head)
    x = rand(6, 12)
    expected = by_the_paper(mla, x, 5, d_nope, d_head)
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


# --- five stages -----------------------------------------------------------------------------


def test_no_line_of_the_forward_pass_differs():
    for form in (latent(12, 3, 5, 2), AbsorbedLatentAttention(latent(12, 3, 5, 2))):
        assert Difference(form).changed_lines == []


def test_the_wires_and_their_axes():
    mla = latent(12, 3, 5, 2, d_q_latent=7, d_head=3, d_nope=6)
    with trace(mla) as wires:
        mla(rand(2, 4, 12), rand(2, 9, 12))
    made = ["q_latent", "q", "latent", "k_rope", "q_heads", "k_heads", "v_heads"]
    assert list(wires) == [*made, "scores", "weights", "z", "concat", "y"]
    assert wires.sizes == {
        "batch": 2,
        "query": 4,
        "key": 9,
        "head": 3,
        "kv_head": 3,
        "d_model": 12,
        "d_latent": 5,
        "d_q_latent": 7,
        "d_rope": 2,
        "d_key": 8,
        "d_keys": 24,
        "d_head": 3,
        "d_heads": 9,
    }
    assert (wires["k_heads"][..., 6:] == wires["k_rope"][:, None]).all()


# --- absorbed --------------------------------------------------------------------------------


@given(cases(), st.integers(1, 4), st.integers(1, 5), st.sampled_from([None, masks.causal]))
def test_the_absorbed_form_computes_the_same(case, n_query, n_key, mask):
    mla, x, context = (
        case[0],
        rand(2, n_query, case[0].d_model),
        rand(2, n_key, case[0].d_model),
    )
    absorbed = AbsorbedLatentAttention(mla)
    with trace(mla) as plain:
        mla(x, context, mask)
    with trace(absorbed) as wires:
        absorbed(x, context, mask)
    for wire in ("q", "latent", "k_rope", "scores", "weights", "z", "concat", "y"):
        assert_close(wires[wire], plain[wire], rtol=0, atol=1e-10)


def test_it_is_multi_query_attention_over_latents():
    absorbed = AbsorbedLatentAttention(latent(12, 3, 5, 2))
    with trace(absorbed) as wires:
        absorbed(rand(4, 12))
    sizes = wires.sizes
    assert (sizes["kv_head"], sizes["d_absorbed"], sizes["d_latent"]) == (1, 7, 5)
    assert torch.equal(wires["v_shared"], wires["k_shared"][..., :5])
    assert wires.steps["v_shared"].result == "view"
    many = MultiQueryAttention(12, 3, d_head=5).double()
    mask, q = masks.causal, wires["q_absorbed"][..., :5]
    many.attend.scale = absorbed.attend.scale
    only = AbsorbedLatentAttention(latent(12, 3, 5, 0)).attend
    only.scale = many.attend.scale
    v = wires["v_shared"]
    assert_close(only(q, v, v, mask), many.attend(q, v, v, mask))


def test_both_forms_hold_the_same_parameters():
    mla, x = latent(12, 3, 5, 2, d_q_latent=7, bias=True), rand(2, 6, 12)
    absorbed = AbsorbedLatentAttention(mla)
    assert {id(p) for p in absorbed.parameters()} == {id(p) for p in mla.parameters()}
    assert not {id(m) for m in absorbed.modules()} & {id(m) for m in mla.modules()}
    mla(x).square().sum().backward()
    expected = {id(p): p.grad.clone() for p in mla.parameters()}
    mla.zero_grad()
    absorbed(x).square().sum().backward()
    for parameter in absorbed.parameters():
        assert_close(parameter.grad, expected[id(parameter)])


def test_dropout_and_mode_come_along():
    mla, x = latent(12, 3, 5, 2, dropout=0.5), rand(2, 6, 12)
    y = {}
    for training in (True, False):
        forms = mla.train(training), AbsorbedLatentAttention(mla)
        torch.manual_seed(1)
        y[training] = forms[0](x)
        torch.manual_seed(1)
        assert_close(forms[1](x), y[training])
    assert not torch.allclose(y[True], y[False])


# --- the cache -------------------------------------------------------------------------------


@settings(max_examples=15)
@given(cases(), st.booleans())
def test_a_token_leaves_its_latent_and_its_rotated_key_and_nothing_else(case, absorb):
    mla, sizes = case
    x, form = rand(2, 5, mla.d_model), AbsorbedLatentAttention(mla) if absorb else mla
    with trace(mla) as wires:
        expected = mla(x, mask=masks.causal)
    with remember(form) as cache:
        y = [form(part, mask=masks.causal) for part in x.split([2, 1, 2], dim=1)]
    assert_close(torch.cat(y, dim=1), expected)
    assert list(cache) == ["latent", "k_rope"]
    assert_close(cache["latent"], wires["latent"])
    assert_close(cache["k_rope"], wires["k_rope"])
    kept = variant_costs.latent(**sizes, n=1)
    assert cache.bytes == kept.cache_bytes(5, itemsize=8) * 2
    assert kept.cached == {name: wire.shape[-1] for name, wire in cache.items()}


def test_what_one_form_kept_the_other_can_use():
    mla, x = latent(12, 3, 5, 2), rand(2, 6, 12)
    absorbed = AbsorbedLatentAttention(mla)
    with remember(mla) as first:
        mla(x[:, :4], mask=masks.causal)
    with remember(absorbed) as second:
        absorbed(x[:, :4], mask=masks.causal)
        second.update(first)
        y = absorbed(x[:, 4:], mask=masks.causal)
    assert_close(y, mla(x, mask=masks.causal)[:, 4:])


# --- costs -----------------------------------------------------------------------------------


def counted(form, *inputs):
    with trace(form) as wires:
        form(*inputs)
    return {name: step.flops for name, step in wires.steps.items() if step.flops}


@given(cases(), st.integers(1, 4))
def test_the_formulas_count_what_runs(case, n):
    mla, sizes = case
    x, absorbed = rand(n, mla.d_model), AbsorbedLatentAttention(mla)
    expected = variant_costs.latent(**sizes, n=n)
    assert counted(mla, x) == expected.flops
    assert counted(absorbed, x) == variant_costs.latent(**sizes, n=n, absorbed=True).flops
    learned = sum(p.numel() for name, p in mla.named_parameters() if "bias" not in name)
    assert learned == sum(expected.parameters.values())


@pytest.mark.parametrize("absorb", [False, True])
def test_one_more_token_after_many(absorb):
    sizes = {"d_model": 12, "n_heads": 3, "d_latent": 5, "d_rope": 2, "d_q_latent": 7}
    mla = latent(**sizes)
    form = AbsorbedLatentAttention(mla) if absorb else mla
    with remember(form):
        form(rand(99, 12), mask=masks.causal)
        found = counted(form, rand(1, 12))
    assert found == variant_costs.latent(**sizes, n=1, n_key=100, absorbed=absorb).flops


def test_absorbed_nothing_is_made_again_from_the_cached_latents():
    sizes = {"d_model": 7168, "n_heads": 128, "d_latent": 512, "d_rope": 64}
    v3 = {**sizes, "d_head": 128, "d_q_latent": 1536}
    at = {
        n_key: {
            form: variant_costs.latent(**v3, n=1, n_key=n_key, absorbed=form).flops
            for form in (False, True)
        }
        for n_key in (1000, 2000)
    }
    again = {
        form: sum(at[2000][form].values()) - sum(at[1000][form].values()) for form in at[1000]
    }
    per_key = {form: more // 1000 for form, more in again.items()}
    assert per_key[False] == 2 * 512 * 128 * 256 + 2 * 128 * (192 + 128)
    assert per_key[True] == 2 * 128 * (576 + 512)
    # FLOPs per byte read from the cache in bfloat16: facts of decoding with absorbed matrices
    assert round(per_key[True] / (2 * 576), 1) == 241.8


def test_absorbed_costs_more_when_all_queries_come_at_once():
    v3 = {"d_model": 7168, "n_heads": 128, "d_latent": 512, "d_rope": 64, "d_head": 128}
    plain, absorbed = (
        sum(variant_costs.latent(**v3, n=4096, absorbed=form).flops.values())
        for form in (False, True)
    )
    assert absorbed > 1.5 * plain


# --- at the start ----------------------------------------------------------------------------


@pytest.mark.parametrize("std", [0.006, 0.02])
def test_the_weights_of_the_papers_at_the_start(std):
    mla = LatentAttention(256, 4, 64, 32, d_q_latent=128, bias=True)
    nn.init.constant_(mla.project.norm.weight, 3.0)
    mla.reset_parameters(**({} if std == 0.006 else {"std": std}))
    for name, parameter in mla.named_parameters():
        if "norm" in name:
            assert (parameter == 1).all()
        elif "bias" in name:
            assert (parameter == 0).all()
        else:
            assert abs(parameter.std().item() / std - 1) < 0.05, name


def test_a_linear_map_of_their_width_starts_near_the_paper():
    assert round(nn.Linear(7168, 64).weight.std().item(), 4) == 0.0068


# --- bad input -------------------------------------------------------------------------------

SIZES = {"d_model": 12, "n_heads": 3, "d_latent": 4, "d_rope": 2}


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"d_latent": 13}, "d_latent=13 is wider than d_model=12; a latent has at most 12"),
        ({"d_q_latent": 24}, "d_q_latent=24 is wider than d_model=12; a latent has at most 12"),
        ({"d_latent": 0}, "d_latent=0 is not a size; it must be at least 1"),
        ({"d_q_latent": 0}, "d_q_latent=0 is not a size"),
        ({"d_rope": 3}, "d_rope=3 is odd; columns turn in pairs, try d_rope=4, or 0 for none"),
        ({"d_rope": -2}, "d_rope=-2 is not a size; it must be at least 1"),
        ({"d_nope": 0}, "d_nope=0 is not a size"),
        ({"n_heads": 5}, "n_heads=5 does not divide d_model=12; try d_model=10 or d_model=15"),
        ({"dropout": 1.0}, "dropout=1.0 is not a probability"),
    ],
)
def test_sizes_that_cannot_be(wrong, words):
    with pytest.raises(ValueError, match=words):
        LatentAttention(**(SIZES | wrong))
    if set(wrong) & {"d_rope", "d_nope", "n_heads"}:
        with pytest.raises(ValueError, match=words):
            variant_costs.latent(**(SIZES | wrong), n=1)


@pytest.mark.nohook  # which knows an int when it sees one
@pytest.mark.parametrize("wrong", ["d_latent", "d_rope"])
def test_half_a_column(wrong):
    with pytest.raises(TypeError, match=rf"{wrong}=2.5 is not a whole number; pass an int"):
        LatentAttention(**(SIZES | {wrong: 2.5}))


@pytest.mark.bothways
@pytest.mark.parametrize("absorb", [False, True])
def test_what_comes_in_is_checked_as_everywhere(absorb):
    mla = latent(12, 3, 4, 2, d_q_latent=6)
    form = AbsorbedLatentAttention(mla) if absorb else mla
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(5, 8\), but d_model=12"):
        form(rand(5, 8))
    with pytest.raises(ValueError, match=r"context is 8 wide, shape \(5, 8\), but d_model=12"):
        form(rand(5, 12), rand(5, 8))
    with pytest.raises(ValueError, match=r"x has leading axes \(2,\) but context has \(3,\)"):
        form(rand(2, 5, 12), rand(3, 5, 12))
    with pytest.raises(TypeError, match=r"mask has dtype torch\.float32, not bool"):
        form(rand(5, 12), mask=torch.ones(5, 5))


@pytest.mark.bothways
def test_only_latent_attention_with_its_own_stages_is_absorbed():
    with pytest.raises(TypeError, match="MultiHeadAttention has no absorbed form; only Lat"):
        AbsorbedLatentAttention(MultiHeadAttention(12, 3))
    other = LatentAttention(12, 3, 4, 2, split=Split(3))
    with pytest.raises(ValueError, match="split=Split has no absorbed form; only LatentSplit"):
        AbsorbedLatentAttention(other)


@pytest.mark.bothways
def test_what_would_not_act_when_absorbed_is_refused():
    biased = LatentAttention(12, 3, 4, 2)
    biased.split.W_UV = nn.Linear(4, 12)
    with pytest.raises(
        ValueError, match="Linear has a hook, a bias or a wrapper around it, and"
    ):
        AbsorbedLatentAttention(biased)
    absorbed = AbsorbedLatentAttention(LatentAttention(12, 3, 4, 2).double())
    absorbed.split.W_UK.register_forward_hook(lambda module, args, out: 2 * out)
    with pytest.raises(ValueError, match="what is absorbed is the weight alone; merge that"):
        absorbed(rand(5, 12))
