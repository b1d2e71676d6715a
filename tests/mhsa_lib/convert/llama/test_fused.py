"""Layers of Llama and its kin, fused: the same numbers as in the library they come from."""

import pytest
import torch
from transformers import DynamicCache

from mhsa_lib import FusedMultiHeadAttention, KVCache, convert, masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import KINDS, both, rope, source, theirs, width
from tests.mhsa_lib.convert.precision import close


def fused(module):
    return FusedMultiHeadAttention.from_attention(convert.from_llama(module))


PAIRS = [
    (kind, scaling)
    for kind in KINDS
    for scaling in ("default", "llama3", "yarn")
    if kind != "olmo2" and (kind != "phi3" or scaling == "default")
]


@pytest.mark.parametrize(("kind", "scaling"), PAIRS)
@both
def test_a_layer_and_its_decoding_are_those_of_the_source(kind, scaling, dtype):
    options = {"partial_rotary_factor": 2 / 3} if kind == "phi3" else {}
    module = source(kind, dtype, rope_parameters=rope(scaling, **options))
    ours, x = fused(module), rand(2, 9, width(module)).to(dtype)
    close(ours(x, mask=masks.causal), theirs(module, x)[0])
    kept, theirs_kept = KVCache(max_length=12), DynamicCache()
    for start, end in ((0, 4), (4, 5), (5, 8), (8, 9)):
        part = x[:, start:end]
        expected, _ = theirs(module, part, start=start, cache=theirs_kept)
        close(ours(part, mask=masks.causal, cache=kept), expected)
    close(kept.wires["k"], theirs_kept.layers[0].keys)
    close(kept.wires["v"], theirs_kept.layers[0].values)


@pytest.mark.bothways
def test_norms_of_all_heads_together_are_refused():
    words = "project=NormedProject has no fused form; only .* use the five stages"
    with pytest.raises(ValueError, match=words):
        fused(source("olmo2"))


def test_every_layer_of_a_model_is_fused_and_goes_on_together():
    layers = [source("llama", torch.float32, index=index) for index in range(2)]
    ours = [fused(layer) for layer in layers]
    x, caches = rand(1, 6, width(layers[0])).float(), [KVCache(), KVCache()]
    theirs_kept = DynamicCache()
    for start, end in ((0, 5), (5, 6)):
        found = expected = x[:, start:end]
        for layer, own, cache in zip(layers, ours, caches, strict=True):
            found = found + own(found, mask=masks.causal, cache=cache)
            expected = expected + theirs(layer, expected, start=start, cache=theirs_kept)[0]
        close(found, expected)
