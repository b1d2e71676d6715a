"""Every cache behind one face: opened, called, closed, and asked without it."""

from contextlib import ExitStack, nullcontext

from mhsa_lib import FusedMultiHeadAttention, KVCache, kv_cache, masks
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention
from tests.helpers.drawn import filled

LENGTH = 12


def randomized(attention):
    return filled(attention).double().eval()


class Driven:
    """Five stages, whose cache is filled by hooks; it grows, or memory is allocated once."""

    def __init__(self, make, *, grows):
        self.make, self.grows = make, grows

    def open(self, *, window=None, length=LENGTH):
        self.attention = self.make()
        length = None if window or self.grows else length
        self.cache, self.rule = KVCache(length, window), masks.causal
        if window is not None:
            self.rule = masks.sliding_window(window)
        self.stack = ExitStack()
        self.enter()
        return self

    def enter(self):
        self.stack.enter_context(kv_cache(self.attention, cache=self.cache))

    def close(self):
        self.stack.close()

    def call(self, x, mask=None, context=None, positions=None):
        mask = self.rule if mask is None else mask
        with self.cache.at(positions) if positions is not None else nullcontext():
            return self.passes(x, context, mask)

    def plainly(self, x, mask=None):
        return self.passes(x, None, mask)

    def passes(self, x, context, mask):
        return self.attention(x, context, mask)

    def moved(self, *args):
        self.attention.to(*args)

    def alone(self, x):
        self.close()
        return self.attention(x, mask=self.rule)


class Given(Driven):
    """A fused attention, which takes its cache as an argument."""

    def enter(self):
        pass

    def passes(self, x, context, mask):
        return self.attention(x, context, mask, cache=self.cache)


def fused():
    return randomized(FusedMultiHeadAttention(12, 6, n_kv_heads=2, bias=True))


def latent():
    return randomized(LatentAttention(12, 3, d_latent=5, d_rope=4))


def rotary():
    split = RotarySplit(6, Rotary(2, base=10.0), 2)
    return randomized(GroupedQueryAttention(12, 6, 2, split=split))


def fused_latent():
    return FusedLatentAttention.from_attention(latent())


CACHES = {
    "stages, growing": lambda: Driven(rotary, grows=True),
    "stages, allocated": lambda: Driven(rotary, grows=False),
    "latents, growing": lambda: Driven(latent, grows=True),
    "fused, growing": lambda: Given(fused, grows=True),
    "fused, allocated": lambda: Given(fused, grows=False),
    "fused latents, allocated": lambda: Given(fused_latent, grows=False),
}
