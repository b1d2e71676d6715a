"""Soft caps, sinks and Gemma's norms in the fused module: the function of the five stages."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim, export
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, KVCache, edit, masks, trace, trace_ops
from mhsa_lib.cache import kv_cache
from mhsa_lib.fused import call
from mhsa_lib.llama_stages import CappedAttend, GemmaNorm, SinkAttend
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention
from tests.helpers.drawn import filled
from tests.mhsa_lib.fused.pairs import fuse, same

STEPS = {
    "capped": lambda dropout=0.0: CappedAttend(0.5, cap=0.8, dropout=dropout),
    "with sinks": lambda dropout=0.0: SinkAttend(0.5, n_heads=6, dropout=dropout),
}
BOTH = pytest.mark.parametrize("kind", STEPS)
MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(3),
    "padding": masks.padding([7, 4]) & masks.causal,
    "prefix": masks.prefix(2),
    "a tensor": torch.arange(49).view(7, 7) % 3 > 0,
    "one row": torch.arange(7).view(1, 7) > 1,
    "nothing": torch.zeros(7, 7, dtype=torch.bool),
}


def staged(kind, n_kv_heads=2, dropout=0.0, norms=True, **options):
    """Five stages with rotary positions; the scores are large enough for a cap to matter."""
    torch.manual_seed(0)
    names = ("q_norm", "k_norm") if norms else ()
    split = RotarySplit(6, Rotary(8), n_kv_heads, **{n: GemmaNorm(8, eps=1e-6) for n in names})
    sizes = {"d_head": 8, "split": split, "attend": STEPS[kind](dropout)}
    return filled(GroupedQueryAttention(12, 6, n_kv_heads, **sizes, **options), std=0.4)


def gradients(attention, x, dy, mask):
    x = x.clone().requires_grad_()
    attention(x, mask=mask).backward(dy)
    norms = attention.split if hasattr(attention, "split") else attention
    found = [x.grad, norms.q_norm.weight.grad, norms.k_norm.weight.grad]
    return found + [p.grad for p in attention.attend.parameters()]


@given(st.sampled_from([*STEPS]), st.sampled_from([6, 2, 1]), st.sampled_from([*MASKS]))
def test_values_and_gradients_are_those_of_the_five_stages(kind, n_kv_heads, name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call, "ROWS", 3)  # so that a block ends within the text
        attention, mask = staged(kind, n_kv_heads), MASKS[name]
        fused, x, dy = fuse(attention), torch.randn(2, 7, 12), torch.randn(2, 7, 12)
        assert_close(fused(x, mask=mask), attention(x, mask=mask), atol=1e-5, rtol=0)
        with torch.no_grad():
            assert_close(fused(x, mask=mask), attention(x, mask=mask), atol=1e-5, rtol=0)
        same(gradients(fused, x, dy, mask), gradients(attention, x, dy, mask))


@BOTH
def test_the_way_back_gives_the_same_stages_and_weights(kind):
    attention = staged(kind)
    back, wanted = fuse(attention).to_attention(), attention.state_dict()
    assert repr(back) == repr(attention)
    assert back.state_dict().keys() == wanted.keys()
    assert all(torch.equal(value, wanted[name]) for name, value in back.state_dict().items())
    shared = {p.data_ptr() for p in attention.parameters()}
    assert not shared & {p.data_ptr() for p in [*fuse(attention).parameters()]}


CACHES = {
    "grows": KVCache,
    "allocated": lambda: KVCache(max_length=16),
    "a ring": lambda: KVCache(window=4),
}


@BOTH
@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("parts", [(1,) * 9, (5, 1, 1, 2)], ids=str)
@pytest.mark.parametrize("mask", [masks.causal, masks.sliding_window(3)], ids=repr)
def test_a_text_in_pieces_is_one_text(kind, cache, parts, mask):
    attention, cache = staged(kind), CACHES[cache]()
    fused, x = fuse(attention), torch.randn(2, 9, 12)
    found = [fused(part, mask=mask, cache=cache) for part in x.split(parts, dim=1)]
    wanted = attention(x, mask=cache.rule & mask)
    assert_close(torch.cat(found, dim=1), wanted, atol=1e-5, rtol=0)


@BOTH
@pytest.mark.parametrize(("n", "m"), [(0, 4), (4, 0), (3, 7), (7, 3)])
def test_other_numbers_of_queries_and_keys(kind, n, m):
    attention = staged(kind, d_context=5)
    x, context = torch.randn(2, n, 12), torch.randn(2, m, 5)
    for mask in (None, masks.causal):
        expected = attention(x, context, mask)
        assert_close(fuse(attention)(x, context, mask), expected, atol=1e-5, rtol=0)


@BOTH
def test_what_is_written_grows_with_the_keys_and_not_with_their_square(kind):
    fused = fuse(staged(kind)).requires_grad_(False)
    for n in (1024, 2048):
        ops = trace_ops(fused, torch.randn(1, n, 12), mask=masks.causal)
        largest = max(op.bytes for op in ops if op.result == "new memory")
        assert largest <= 4 * 6 * call.ROWS * (n + 1)


@BOTH
def test_what_is_kept_for_the_backward_pass_grows_with_the_text(kind):
    fused, kept = fuse(staged(kind)), {}

    def keep(tensor):
        memory = tensor.untyped_storage()
        kept[n][memory.data_ptr()] = memory.nbytes()
        return tensor

    for n in (1024, 2048):
        kept[n] = {}
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            y = fused(torch.randn(1, n, 12), mask=masks.causal)
        del y  # until here nothing that was kept may make room for something else
    assert sum(kept[2048].values()) <= 2.1 * sum(kept[1024].values())


@BOTH
def test_dropout_drops_weights_in_training_only(kind):
    fused = fuse(staged(kind, dropout=0.5))
    x = torch.randn(2, 7, 12)
    assert fused.dropout == 0.5
    assert not torch.equal(fused(x), fused(x))
    assert torch.equal(fused.eval()(x), fused(x))
    assert_close(fused(x), staged(kind)(x), atol=1e-5, rtol=0)


def test_dropped_weights_are_those_of_the_backward_pass():
    """A block is computed twice: the second time the same weights must be dropped."""
    fused = fuse(staged("capped", dropout=0.5)).double()
    x = torch.randn(1, 5, 12, dtype=torch.double, requires_grad=True)

    def drawn(x):
        torch.manual_seed(1)
        return fused(x, mask=masks.causal)

    assert torch.autograd.gradcheck(drawn, x)


@BOTH
def test_a_batch_of_vmap_is_a_batch(kind):
    fused, x = fuse(staged(kind)), torch.randn(3, 2, 5, 12)
    found = torch.func.vmap(lambda each: fused(each, mask=masks.causal))(x)
    assert_close(found, fused(x, mask=masks.causal), atol=1e-5, rtol=0)


@BOTH
@pytest.mark.nohook
def test_compiled_and_exported_passes_take_any_length(kind):
    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.fused = fuse(staged(kind, norms=False))

        def forward(self, x):
            return self.fused(x, mask=masks.causal)

    module = Causal().eval()
    program = export(module, (torch.randn(2, 6, 12),), dynamic_shapes=({1: Dim("n")},)).module()
    compiled = torch.compile(module, backend="eager")
    for n in (6, 9, 300):
        x = torch.randn(2, n, 12)
        assert_close(program(x), module(x), atol=1e-5, rtol=0)
        assert_close(compiled(x), module(x), atol=1e-5, rtol=0)


@BOTH
@pytest.mark.bothways
def test_what_would_hear_blocks_is_refused(kind):
    x = torch.randn(2, 5, 12)
    words = f"{type(STEPS[kind]()).__name__} has a hook, .* never calls it; use to_attention"
    fused = fuse(staged(kind))
    with pytest.raises(ValueError, match=words), trace(fused):
        fused(x)
    with pytest.raises(ValueError, match="Wire has a hook"), edit(fused, "weights", torch.sign):
        fused(x)
    with pytest.raises((ValueError, TypeError)), kv_cache(fused):
        fused(x)
    fused(x)
    fused.attend.register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match=words):
        fused(x)
    with pytest.raises(ValueError, match=r"attend has a hook, .* has no form in five stages"):
        fused.to_attention()


@pytest.mark.bothways
def test_a_cap_of_ones_own_is_refused():
    class Squared(CappedAttend):
        def score(self, q, k):
            return super().score(q, k) ** 2

    attention = staged("capped")
    attention.attend = Squared(0.5, cap=0.8)
    with pytest.raises(ValueError, match=r"attend=Squared has no fused form; only Attend or"):
        FusedMultiHeadAttention.from_attention(attention)
