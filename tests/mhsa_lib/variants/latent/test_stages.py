"""Latent attention keeps the five lines; its wires carry the latents."""

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_book.difference import Difference
from mhsa_lib import trace
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.latent.layers import latent


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
