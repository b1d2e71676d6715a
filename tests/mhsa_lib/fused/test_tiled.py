"""Attention in tiles is attention, whatever the sizes, and so are its gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib.fused import cuts, tiled
from mhsa_lib.fused.call import Call
from mhsa_lib.fused.definition import attend_by_definition
from mhsa_lib.masks.structure import Band
from tests.mhsa_lib.fused.test_dispatch import (
    TOLERANCE,
    exact,
    gradients,
    heads,
    same_gradients,
)


def attend(q, k, v, scale, band, shift):
    call = Call.of(q, k, v, None, scale=scale)
    return tiled.attend_in_tiles(call._replace(shift=shift, band=band))


bands = st.builds(Band, st.sampled_from([None, 0, 3]), st.sampled_from([None, 0, 5, 90]))


@settings(max_examples=40, deadline=None)
@given(
    bands,
    st.sampled_from([1, 3, 64, 130]),
    st.sampled_from([1, 2, 64, 200]),
    st.sampled_from([1, 2]),
    st.sampled_from(list(TOLERANCE)),
    st.sampled_from([1, 2**15, 2**22]),
)
def test_it_is_attention_in_a_band(band, n_query, n_key, n_kv_heads, dtype, tile):
    torch.manual_seed(n_query + n_key)
    shift = n_key - n_query
    q, k, v = heads(2, n_kv_heads, n_query, n_key, dtype)
    query, key = torch.arange(shift, n_key)[:, None], torch.arange(n_key)
    expected = exact(q, k, v, band.allows(query, key), 0.4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts, "TILE", tile)
        z = attend(q, k, v, 0.4, band, shift)
        found = gradients(z, (q, k, v))
    tolerance = TOLERANCE[dtype]
    assert_close(z.double(), expected, atol=tolerance, rtol=tolerance)
    same_gradients(found, gradients(expected, (q, k, v)), 2 * tolerance)


def test_few_tokens_in_bfloat16_keep_their_weights_when_trained(monkeypatch):
    q, k, v = heads(2, 2, 200, 200, torch.bfloat16)
    computed = []
    weights = tiled._weights
    monkeypatch.setattr(tiled, "_weights", lambda *a: computed.append(1) or weights(*a))
    monkeypatch.setattr(cuts, "TILE", 2**15)
    kept = gradients(attend(q, k, v, 0.5, Band(ahead=0), 0), (q, k, v))
    forward = len(computed)
    monkeypatch.setattr(tiled, "FEW", 100)
    again = gradients(attend(q, k, v, 0.5, Band(ahead=0), 0), (q, k, v))
    assert len(computed) == forward + 2 * forward
    assert all(torch.equal(one, other) for one, other in zip(kept, again, strict=True))


def test_float32_and_long_texts_keep_none():
    assert tiled.keeps(*[torch.empty(1, 1, 512, 4, dtype=torch.bfloat16)] * 2)
    assert not tiled.keeps(*[torch.empty(1, 1, 513, 4, dtype=torch.bfloat16)] * 2)
    assert not tiled.keeps(*[torch.empty(1, 1, 8, 4)] * 2)


def test_the_result_lies_in_memory_as_concat_wants_it():
    q, k, v = heads(2, 2, 5, 5, torch.float32)
    z = attend(q, k, v, 0.5, Band(), 0)
    assert z.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("band", [Band(), Band(ahead=0), Band(ahead=0, behind=3)], ids=str)
@pytest.mark.parametrize(("n_kv_heads", "n_key"), [(2, 70), (1, 70), (1, 40)])
def test_its_gradients_have_derivatives(band, n_kv_heads, n_key):
    q, k, v = heads(2, n_kv_heads, 70, n_key, torch.float64)
    query, key = torch.arange(n_key - 70, n_key)[:, None], torch.arange(n_key)
    found, given = [], (q, k, v)
    defined = attend_by_definition(Call(*given, band.allows(query, key), 0.4))
    for z in (attend(*given, 0.4, band, n_key - 70), defined):
        first = torch.autograd.grad(z.sin().sum(), given, create_graph=True)
        found.append(torch.autograd.grad(sum(g.square().sum() for g in first), given))
    assert all(torch.isfinite(g).all() for g in found[1])
    same_gradients(*found, 1e-9)


def test_in_bfloat16_they_do_too():
    q, k, v = heads(2, 2, 70, 70, torch.bfloat16)
    query, key = torch.arange(70)[:, None], torch.arange(70)
    found, allowed = [], query >= key
    for z in (attend(q, k, v, 0.4, Band(ahead=0), 0), exact(q, k, v, allowed, 0.4)):
        (first,) = torch.autograd.grad(z.double().square().sum(), q, create_graph=True)
        found.append(torch.autograd.grad(first.double().square().sum(), (q, k, v)))
    same_gradients(*found, 8e-2)


def test_many_gradients_at_once_are_those_one_at_a_time():
    q, k, v = heads(2, 1, 70, 70, torch.float32)
    z = attend(q, k, v, 0.4, Band(ahead=0), 0)
    several = torch.randn(3, *z.shape)
    found = torch.autograd.grad(z, (q, k, v), several, is_grads_batched=True, retain_graph=True)
    for i, one in enumerate(several):
        wanted = torch.autograd.grad(z, (q, k, v), one, retain_graph=True)
        same_gradients([g[i] for g in found], wanted, 1e-5)


def test_kept_weights_are_let_go_with_the_graph():
    q, k, v = heads(2, 2, 200, 200, torch.bfloat16)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.shape) or t, lambda t: t
    ):
        attend(q, k, v, 0.5, Band(), 0)
    assert any(shape[-2:] == (256, 256) for shape in saved)


def test_under_autocast_nothing_is_computed_in_another_type():
    q, k, v = heads(1, 1, 70, 70, torch.bfloat16)
    plain = attend(q, k, v, 0.5, Band(), 0)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(attend(q, k, v, 0.5, Band(), 0), plain)
