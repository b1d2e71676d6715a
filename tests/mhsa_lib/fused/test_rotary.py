"""Rotary positions in the fused module: the function of the five stages, in every way."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, export
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, KVCache, masks, trace
from mhsa_lib.cache import kv_cache
from mhsa_lib.fused import rotation
from mhsa_lib.rope.rotary import (
    HALVES,
    INTERLEAVED,
    Pairing,
    PartialRotary,
    Rotary,
    RotarySplit,
)
from mhsa_lib.rope.scaling import LinearScaling, Llama3Scaling, YarnScaling
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled
from tests.mhsa_lib.fused.pairs import fuse, same

SCALINGS = [
    None,
    LinearScaling(3.0),
    Llama3Scaling(8.0, length=16),
    YarnScaling(4.0, base=100.0, length=16, fast=8.0, slow=2.0),
]
ODD = Pairing("inside out", "(pair two)")


class Doubling:
    """A scaling of one's own, that gives other frequencies every time."""

    def __init__(self):
        self.factor = 1.0

    def __call__(self, frequencies):
        self.factor *= 2.0
        return frequencies * self.factor


def rotary(width=8, pairing=HALVES, scaling=None, base=100.0, kind=Rotary):
    return kind(width, base, pairing, scaling)


def llama(rotation=None, n_heads=6, n_kv_heads=2, norms=False, **options):
    """The five stages as from_llama makes them, with weights that are not small."""
    torch.manual_seed(0)
    rotation = rotary() if rotation is None else rotation
    kinds = {"q_norm": nn.RMSNorm(8), "k_norm": nn.LayerNorm(8)} if norms else {}
    split = RotarySplit(n_heads, rotation, n_kv_heads, **kinds)
    sizes = {"d_head": 8, "split": split}
    return filled(GroupedQueryAttention(12, n_heads, n_kv_heads, **sizes, **options), std=0.4)


ROTATIONS = st.one_of(
    st.builds(
        rotary,
        pairing=st.sampled_from([HALVES, INTERLEAVED, ODD]),
        scaling=st.sampled_from(SCALINGS),
    ),
    st.builds(rotary, width=st.sampled_from([2, 4]), kind=st.just(PartialRotary)),
)
MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(3),
    "padding": masks.causal & masks.padding([7, 3]),
    "key padding": masks.key_padding([2, 7]),
    "tensor": torch.rand(7, 7, generator=torch.Generator().manual_seed(3)) < 0.5,
}


@given(
    ROTATIONS,
    st.sampled_from([(6, 2), (3, 3), (4, 1)]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(list(MASKS)),
)
def test_values_and_gradients_are_those_of_the_five_stages(turn, heads, bias, norms, mask):
    attention = llama(turn, *heads, bias=bias, norms=norms)
    fused, x, dy = fuse(attention), torch.randn(2, 7, 12), torch.randn(2, 7, 12)
    given = [x.clone().requires_grad_() for _ in range(2)]
    for a, own in zip((attention, fused), given, strict=True):
        a(own, mask=MASKS[mask]).backward(dy)
    assert_close(fused(x, mask=MASKS[mask]), attention(x, mask=MASKS[mask]), atol=1e-5, rtol=0)
    back, project = fused.to_attention(), attention.project
    same([given[1].grad], [given[0].grad])
    parts = [W.weight.grad for W in (project.W_Q, project.W_K, project.W_V)]
    same([fused.W_QKV.weight.grad], [torch.cat(parts)])
    if norms:
        names = "q_norm", "k_norm"
        found = [getattr(fused, name).weight.grad for name in names]
        same(found, [getattr(attention.split, name).weight.grad for name in names])
    assert type(back.split) is RotarySplit
    assert repr(back.split) == repr(attention.split)
    wanted = attention.state_dict()
    assert back.state_dict().keys() == wanted.keys()
    assert all(torch.equal(value, wanted[name]) for name, value in back.state_dict().items())


@pytest.mark.parametrize(("n", "m"), [(3, 7), (7, 3), (1, 5), (0, 4), (4, 0)])
@pytest.mark.parametrize("d_context", [12, 5])
def test_queries_of_another_text_are_at_its_last_positions(n, m, d_context):
    attention = llama(d_context=d_context)
    x, context = torch.randn(2, n, 12), torch.randn(2, m, d_context)
    for mask in (None, masks.causal):
        expected = attention(x, context, mask)
        assert_close(fuse(attention)(x, context, mask), expected, atol=1e-5, rtol=0)


CACHES = {
    "grows": KVCache,
    "allocated": lambda: KVCache(max_length=16),
    "a ring": lambda: KVCache(window=4),
}


@pytest.mark.parametrize("parts", [(1,) * 9, (5, 1, 1, 2), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
def test_a_text_in_pieces_is_one_text(cache, parts, scaling, monkeypatch):
    monkeypatch.setattr(rotation, "FEWEST", 4)  # so that the table grows on the way
    attention = llama(rotary(scaling=scaling), norms=True)
    fused, x, cache = fuse(attention), torch.randn(2, 9, 12), CACHES[cache]()
    found = [fused(part, mask=masks.causal, cache=cache) for part in x.split(parts, dim=1)]
    expected = attention(x, mask=cache.rule)
    assert_close(torch.cat(found, dim=1), expected, atol=1e-5, rtol=0)


def test_keys_are_kept_rotated():
    attention, cache, x = llama(), KVCache(), torch.randn(2, 5, 12)
    with trace(attention) as wires:
        attention(x, mask=masks.causal)
    for part in x.split([3, 2], dim=1):
        fuse(attention)(part, mask=masks.causal, cache=cache)
    assert_close(cache.wires["k"], wires["k_rotated"], atol=1e-5, rtol=0)


PADDED = {
    "left": ([[0, 1, 2, 3], [-1, -1, 0, 1]], [[4], [2]]),
    "right": ([[0, 1, 2, 3], [0, 1, -1, -1]], [[4], [2]]),
    "none comes": ([[0, 1, 2, 3], [0, 1, 2, 3]], [[4], [-1]]),
}


@pytest.mark.parametrize("name", PADDED)
def test_padded_sequences_go_on_where_each_of_them_ends(name):
    attention, cache = llama(), KVCache()
    fused, x = fuse(attention), torch.randn(2, 6, 12)
    texts = list(zip([*PADDED[name], None], x.split([4, 1, 1], dim=1), strict=True))
    found = []
    for positions, part in texts[:2]:
        with cache.at(positions):
            found.append(fused(part, mask=masks.causal, cache=cache))
    found.append(fused(texts[2][1], mask=masks.causal, cache=cache))  # where each ends
    found, last = torch.cat(found, dim=1), cache.lengths
    rows = torch.cat([torch.tensor(each) for each in PADDED[name]], dim=1)
    rows = torch.cat([rows, torch.tensor(last)[:, None] - 1], dim=1)
    for sequence in range(2):  # each alone, without its padding
        real = rows[sequence] >= 0
        alone = attention(x[sequence, real], mask=masks.causal)
        assert_close(found[sequence, real], alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize("n", [7, 40])
def test_padding_is_left_out_and_positions_stay(n):
    attention, x = llama(norms=True, bias=True), torch.randn(3, n, 12)
    mask = masks.causal & masks.padding([n, 2, n // 2])
    fused, seen = fuse(attention), []
    assert_close(fused(x, mask=mask), attention(x, mask=mask), atol=1e-5, rtol=0)
    fused.rotary.register_forward_hook(lambda module, args, y: seen.append(y.shape) or 2 * y)
    attention.split.rotary.register_forward_hook(lambda module, args, y: 2 * y)
    assert_close(fused(x, mask=mask), attention(x, mask=mask), atol=1e-5, rtol=1e-5)
    assert seen == [(3, 6, n, 8), (3, 2, n, 8)]  # a hook may act on padding too


def test_in_a_large_batch_angles_stay_small():
    """Only distances count, but an angle of many thousands has few digits for them."""
    attention, n_sequences = llama(), 4000
    fused, x = fuse(attention), torch.randn(n_sequences, 8, 12)
    with torch.no_grad():
        found = fused(x, mask=masks.padding([7] * n_sequences))[-1, :7]
    assert_close(found, attention(x[-1, :7]), atol=1e-5, rtol=0)


# --- the table -------------------------------------------------------------------------------


def test_a_table_serves_every_position_and_rotation(monkeypatch):
    monkeypatch.setattr(rotation, "FEWEST", 2)
    heads = torch.randn(3, 5, 8, dtype=torch.float64)
    for base in (10.0, 100.0):
        for pairing in (HALVES, INTERLEAVED, ODD):
            for first in (0, 1, 3, 11, 12, 300):
                turn = rotary(pairing=pairing, base=base)
                expected = turn(heads, torch.arange(first, first + 5))
                assert_close(rotation.rotated(turn, heads, first), expected)


def test_half_precision_does_not_round_positions():
    heads, turn = torch.randn(1, 4, 8), rotary(base=1e6)
    half = rotation.rotated(turn, heads.bfloat16(), 40_961)
    exact = turn(heads.bfloat16().double(), torch.arange(40_961, 40_965))
    assert_close(half.double(), exact, atol=0.04, rtol=0)


def test_what_changes_with_every_call_is_not_kept():
    heads, turn = torch.randn(1, 1, 8), rotary(scaling=Doubling())
    found = [rotation.rotated(turn, heads, 3) for _ in range(2)]
    assert not torch.allclose(*found)
    turn = rotary()
    before = rotation.rotated(turn, heads, 3)
    turn.base = 7.0
    assert_close(rotation.rotated(turn, heads, 3), turn(heads, torch.tensor([3])))
    assert not torch.allclose(rotation.rotated(turn, heads, 3), before)


def test_a_table_is_for_every_later_call(monkeypatch):
    rotation._table.cache_clear()
    fused, x = fuse(llama()), torch.randn(2, 5, 12)
    with FakeTensorMode(allow_non_fake_inputs=True):
        fused(torch.empty(2, 5, 12))
    with torch.inference_mode():
        expected = fused(x)
    found = fused(x.requires_grad_())
    found.sum().backward()
    assert_close(found, expected)
    assert rotation._table.cache_info().misses == 1


def test_a_rotation_of_another_width_is_refused():
    fused = FusedMultiHeadAttention(12, 3, rotary=Rotary(8))
    with pytest.raises(ValueError, match=r"rows are 4 wide, .* but d_rotary=8"):
        fused(torch.randn(2, 5, 12))


# --- recorded and transformed ----------------------------------------------------------------


@pytest.mark.nohook
def test_compiled_and_exported_passes_take_any_length():
    fused = fuse(llama(norms=True)).requires_grad_(False)

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.fused = fused

        def forward(self, x):
            return self.fused(x, mask=masks.causal)

    torch.compiler.reset()
    options = {"fullgraph": True, "backend": "eager", "dynamic": True}
    program = torch.compile(Masked(), **options)
    exported = export(Masked(), (torch.randn(2, 5, 12),), dynamic_shapes=({1: Dim.DYNAMIC},))
    for n in (2, 5, 9):
        x = torch.randn(2, n, 12)
        for found in (program(x), exported.module()(x)):
            assert_close(found, fused(x, mask=masks.causal), atol=1e-5, rtol=0)


@pytest.mark.nohook
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_a_pass_of_jit_trace_takes_any_two_lengths():
    fused = fuse(llama(norms=True)).requires_grad_(False)
    given = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    program = torch.jit.trace(fused, given, check_trace=False)
    for n, m in ((5, 7), (3, 9), (4, 2)):
        x, context = torch.randn(2, n, 12), torch.randn(2, m, 12)
        assert_close(program(x, context), fused(x, context), atol=1e-5, rtol=0)


def test_a_batch_of_vmap_is_a_batch():
    fused, x = fuse(llama()), torch.randn(3, 2, 5, 12)
    found = torch.func.vmap(lambda each: fused(each, mask=masks.causal))(x)
    assert_close(found, fused(x, mask=masks.causal), atol=1e-5, rtol=0)


# --- what there is no fused form of ----------------------------------------------------------


class Reversed(Rotary):
    def forward(self, rows, positions):
        return super().forward(rows, -positions)


class Halved(nn.RMSNorm):
    def forward(self, rows):
        return super().forward(rows) / 2


@pytest.mark.bothways
def test_other_rotations_and_norms_are_refused():
    words = "split.rotary=Reversed has no fused form; only Rotary or PartialRotary is known"
    with pytest.raises(ValueError, match=words):
        fuse(llama(Reversed(8)))
    attention = llama()
    attention.split.q_norm = Halved(8)
    with pytest.raises(ValueError, match=r"split\.q_norm=Halved has no fused form; only I"):
        fuse(attention)
    attention = llama()
    attention.split.rotary.register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match=r"split\.rotary has a hook, "):
        fuse(attention)
    with pytest.raises(
        ValueError, match=r"q_norm=RMSNorm.* came without a rotary; .*Rotary\(4\)"
    ):
        FusedMultiHeadAttention(12, 3, q_norm=nn.RMSNorm(4))


def test_a_key_bias_that_is_missing_must_not_learn():
    """With positions it is no constant of a query's scores: it would change the function."""
    attention = llama(bias=True)
    attention.project.W_K.bias = None
    with pytest.raises(ValueError, match=r"W_Q.bias learns and W_K.bias is None"):
        fuse(attention)
    x = torch.randn(2, 5, 12)
    fused = fuse(attention.requires_grad_(False))
    assert_close(fused(x, mask=masks.causal), attention(x, mask=masks.causal))


@pytest.mark.bothways
def test_there_are_no_wires_in_it():
    fused = fuse(llama())
    with pytest.raises(ValueError, match="holds no stages of mhsa_lib"), trace(fused):
        pass
    with pytest.raises(ValueError, match="holds no stages of mhsa_lib"), kv_cache(fused):
        pass
