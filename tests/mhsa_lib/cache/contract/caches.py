"""Every cache behind one face: opened, called, closed, and asked without it."""

from mhsa_lib import FusedMultiHeadAttention, masks
from mhsa_lib.cache.remembering import remember
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention
from tests.helpers.drawn import filled

LENGTH = 12


def randomized(attention):
    return filled(attention).double().eval()


class Growing:
    """``remember``: tensors that grow."""

    def __init__(self, make):
        self.make = make

    def open(self, batch, *, window=None, length=LENGTH):
        self.attention = self.make()
        self.block = remember(self.attention, length=length, window=window)
        self.cache = self.block.__enter__()
        self.rule = masks.causal if window is None else masks.sliding_window(window)
        return self

    def close(self):
        self.block.__exit__(None, None, None)

    def call(self, x, mask=None, context=None):
        return self.attention(x, context, self.rule if mask is None else mask)

    def plainly(self, x, mask=None):
        return self.attention(x, mask=mask)

    def alone(self, x):
        self.close()
        return self.attention(x, mask=self.rule)

    def moved(self, *args):
        self.attention.to(*args)


class Taken(Growing):
    """Memory that is taken once."""

    def open(self, batch, *, window=None, length=LENGTH):
        self.attention = self.make()
        length = None if window else length
        self.cache = self.attention.cache(batch, length, window=window)
        self.rule = self.cache.ring.rule
        return self

    def close(self):
        pass

    def call(self, x, mask=None, context=None):
        mask = self.rule if mask is None else mask
        return self.attention(x, context, mask, cache=self.cache)

    def plainly(self, x, mask=None):
        return self.attention(x, mask=mask, cache=self.cache)


def fused():
    return randomized(FusedMultiHeadAttention(12, 6, n_kv_heads=2, bias=True))


def latent():
    return randomized(LatentAttention(12, 3, d_latent=5, d_rope=4))


def rotary():
    split = RotarySplit(6, Rotary(2, base=10.0), 2)
    return randomized(GroupedQueryAttention(12, 6, 2, split=split))


CACHES = {
    "growing": lambda: Growing(rotary),
    "growing latents": lambda: Growing(latent),
    "taken": lambda: Taken(fused),
    "taken latents": lambda: Taken(lambda: FusedLatentAttention.from_attention(latent())),
}
