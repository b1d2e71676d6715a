"""Attention by explicit weights is attention, whatever the sizes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from mhsa_lib.fused import cpu
from mhsa_lib.fused.call import Call
from mhsa_lib.masks.structure import Band
from tests.mhsa_lib.fused.test_kernels import TOLERANCE, exact, heads


def attend(q, k, v, scale, band, shift):
    call = Call.of(q, k, v, None, scale=scale)
    return cpu.attend_by_explicit_weights(
        call._replace(shift=shift, band=band, sees_all=band == Band())
    )


bands = st.builds(Band, st.sampled_from([None, 0, 3]), st.sampled_from([None, 0, 5, 90]))


@settings(max_examples=40, deadline=None)
@given(
    bands,
    st.sampled_from([1, 3, 64, 130]),
    st.sampled_from([1, 2, 64, 200]),
    st.sampled_from([1, 2]),
    st.sampled_from(list(TOLERANCE)),
    st.sampled_from([1, 64, 256]),
)
def test_it_is_attention_in_a_band(band, n_query, n_key, n_kv_heads, dtype, rows):
    torch.manual_seed(n_query + n_key)
    shift = n_key - n_query
    q, k, v = heads(2, n_kv_heads, n_query, n_key, dtype)
    query, key = torch.arange(shift, n_key)[:, None], torch.arange(n_key)
    expected = exact(q, k, v, band.allows(query, key), 0.4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "ROWS", rows)
        z = attend(q, k, v, 0.4, band, shift)
    tolerance = TOLERANCE[dtype]
    assert_close(z.double(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("learning", ["q", "k", "v"])
def test_whoever_learns_is_left_to_sdpa(learning):
    parts = dict(zip("qkv", heads(2, 2, 200, 200, torch.bfloat16), strict=True))
    parts = {name: t.detach().requires_grad_(name == learning) for name, t in parts.items()}
    call = Call.of(*parts.values(), None, scale=0.5)
    assert (
        cpu.EXPLICIT_WEIGHTS.unsupported_reason(call) == "not 16 to 128 tokens, with gradients"
    )
    with torch.no_grad():
        assert cpu.EXPLICIT_WEIGHTS.unsupported_reason(call) is None


def test_under_autocast_nothing_is_computed_in_another_type():
    q, k, v = heads(1, 1, 70, 70, torch.bfloat16)
    plain = attend(q, k, v, 0.5, Band(), 0)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(attend(q, k, v, 0.5, Band(), 0), plain)
