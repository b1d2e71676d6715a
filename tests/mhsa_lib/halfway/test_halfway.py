"""A call that fails at any of its steps leaves everything as it was, and the next is right."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mhsa_book.conversions.grouping import pooled
from mhsa_lib import FusedMultiHeadAttention, KVCache, convert, kv_cache, masks
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.tracing import edit, trace
from tests.helpers import halfway
from tests.helpers.drawn import filled, mha, rand
from tests.mhsa_lib.cache import caches
from tests.mhsa_lib.convert import sources
from tests.mhsa_lib.convert.llama import layers
from tests.mhsa_lib.halfway import subjects
from tests.mhsa_lib.variants.registry import VARIANTS

MANY = settings().max_examples > 25
few = settings(max_examples=30 if MANY else 2)
INJECT = {
    "before an operation": halfway.operations,
    "after an operation": lambda injected: halfway.operations(injected, after=True),
    "before a module": halfway.modules,
    "after a module": lambda injected: halfway.modules(injected, after=True),
    "at a line": lambda injected: halfway.lines(injected, "mhsa_lib"),
}
ways = st.sampled_from(sorted(INJECT))
errors = st.sampled_from(halfway.ERRORS)


def same(found, expected) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def survives(make, way: str, error: type[BaseException], stride: int = 1) -> None:
    """Every step fails once; what comes after is bit for bit what it is without a failure."""
    calm = make()
    calm.call()
    # A hook on the attention itself runs when the call has succeeded.
    done = None if "operation" in way or "before" in way else calm.state()
    calm.close()
    calm = make()
    expected = calm.after()
    calm.close()

    def check(subject) -> None:
        same(subject.after(), expected)

    stride *= 1 if MANY else 4
    halfway.every_step(
        make, lambda s: s.call(), check, INJECT[way], error, lambda s: s.state(), stride, done
    )


@few
@given(st.sampled_from(VARIANTS), ways, errors, st.booleans(), st.booleans(), st.integers(1, 4))
def test_a_pass(variant, way, error, grad, masked, n):
    assume("Absorbed" not in variant.name or "module" not in way)  # it refuses hooks
    x, mask = rand(2, n, 12), masks.causal if masked else None

    def make():
        torch.manual_seed(0)
        return subjects.a_pass(lambda: filled(variant.build().double()), x, mask, grad)

    survives(make, way, error, stride=29 if "line" in way else 1)


SIZES = [{}, {"max_length": 12}, {"window": 3}, {"window": 3, "max_length": 12}]


@pytest.mark.nohook  # other tests check these shapes, of fewer calls
@pytest.mark.parametrize("way", INJECT)
@pytest.mark.parametrize("name", ["rotary", "latent", "fused", "fused_latent"])
@few
@given(st.sampled_from(SIZES), errors, st.lists(st.integers(1, 4), min_size=3, max_size=3))
def test_a_step_through_a_cache(name, way, sizes, error, steps):
    x = rand(2, sum(steps), 12)

    def make():
        torch.manual_seed(0)
        fused = "fused" in name
        return subjects.cached(getattr(caches, name), sizes, x, steps, fused)

    survives(make, way, error, stride=29 if "line" in way else 1)


CHANGES = {
    "update": lambda x: lambda cache: cache.update(x[:, None, :, :4], x[:, None, :, 4:7]),
    "reorder": lambda x: lambda cache: cache.reorder([1, 0]),
    "crop": lambda x: lambda cache: cache.crop([2, 1]),
    "reset": lambda x: lambda cache: cache.reset(),
}


@pytest.mark.parametrize("way", ["before an operation", "after an operation", "at a line"])
@pytest.mark.parametrize("change", CHANGES)
@few
@given(st.sampled_from(SIZES), errors, st.integers(1, 4))
def test_a_change_of_a_cache(change, way, sizes, error, n):
    if change == "crop" and KVCache(**sizes).ring is not None:
        n = 2  # a full ring cannot be cropped
    x = rand(2, n, 12)
    survives(lambda: subjects.changed(sizes, x, CHANGES[change](x)), way, error)


BLOCKS = {
    "trace": trace,
    "edit": lambda module: edit(module, "z", lambda z: 2 * z),
    "cache": kv_cache,
}
STAGES = {"plain": lambda: mha(bias=True), "rotary": caches.rotary, "latent": caches.latent}


@few
@given(
    st.sampled_from(sorted(STAGES)), st.sampled_from(["trace", "edit", "cache"]), ways, errors
)
def test_a_block_that_a_failure_leaves(name, block, way, error):
    x = rand(2, 3, 12)

    def make():
        torch.manual_seed(0)
        return subjects.in_a_block(STAGES[name], x, BLOCKS[block])

    survives(make, way, error, stride=67 if "line" in way else 1)


@few
@given(st.sampled_from(sorted(STAGES)), ways, errors)
def test_a_second_pass_of_a_trace(name, way, error):
    x = rand(2, 3, 12)

    def make():
        torch.manual_seed(0)
        return subjects.watched(STAGES[name], x)

    survives(make, way, error, stride=67 if "line" in way else 1)


@few
@given(ways, errors)
def test_the_keys_of_a_context(way, error):
    x = rand(2, 3, 12)

    def make():
        torch.manual_seed(0)
        return subjects.of_context(lambda: mha(bias=True), x)

    survives(make, way, error, stride=67 if "line" in way else 1)


CONVERSIONS = {
    "fused": (lambda: mha(bias=True), FusedMultiHeadAttention.from_attention),
    "stages": (caches.fused, lambda fused: fused.to_attention()),
    "fused latents": (caches.latent, FusedLatentAttention.from_attention),
    "pruned": (caches.rotary, lambda attention: prune_heads(attention, [0, 1, 2])),
    "pooled": (lambda: mha(bias=True), lambda a: pooled(a, 1)),
    "torch": (lambda: sources.torchs(3, 4), convert.from_torch),
    "bert": (lambda: sources.bert(3, 4), convert.from_bert),
    "gpt2": (lambda: sources.gpt2(3, 4), convert.from_gpt2),
    "llama": (lambda: layers.source("llama"), convert.from_llama),
}


@few
@given(st.sampled_from(sorted(CONVERSIONS)), ways, errors)
def test_a_conversion(name, way, error):
    source, to = CONVERSIONS[name]
    x = rand(2, 3, 12)

    def make():
        torch.manual_seed(0)
        return subjects.converted(source, x, to)

    survives(make, way, error, stride=67 if "line" in way else 5)
