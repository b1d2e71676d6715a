"""All attentions of a model share one cache: a call of the model counts once, or not at all."""

import itertools

import pytest
import torch
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from mhsa_lib import (
    FusedMultiHeadAttention,
    KVCache,
    MultiHeadAttention,
    kv_cache,
    masks,
    trace,
)
from mhsa_lib.rope.rotary import Rotary, RotarySplit
from mhsa_lib.variants import CollaborativeAttention, GroupedQueryAttention, LatentAttention
from tests.helpers.drawn import filled, rand
from tests.helpers.padded import left_padded
from tests.mhsa_lib.cache.breaking import breaks
from tests.mhsa_lib.cache.comparing import assert_close, kept
from tests.mhsa_lib.cache.kinds import hooks

N_LAYERS, N_IDS = 3, 7


class Layer(nn.Module):
    """Self-attention, cross-attention where there is one, and a map of every token."""

    def __init__(self, attention, cross=None):
        super().__init__()
        self.attention, self.cross, self.map = attention, cross, nn.Linear(12, 12)

    def forward(self, x, memory, mask):
        x = x + self.attention(x, mask=mask)
        if self.cross is not None:
            x = x + self.cross(x, memory)
        return x + self.map(x).tanh()


class Model(nn.Module):
    def __init__(self, attention, cross=lambda: None, n_layers=N_LAYERS):
        super().__init__()
        self.embed, self.last = nn.Embedding(N_IDS, 12), nn.Linear(12, N_IDS)
        self.layers = nn.ModuleList(Layer(attention(), cross()) for _ in range(n_layers))

    def forward(self, ids, memory=None, mask=masks.causal):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, memory, mask)
        return self.last(x)


def rotary():
    return GroupedQueryAttention(12, 6, 2, split=RotarySplit(6, Rotary(2, base=10.0), 2))


def plain():
    return MultiHeadAttention(12, 3, bias=True)


KINDS = {
    "plain": plain,
    "rotary": rotary,
    "latent": lambda: LatentAttention(12, 3, d_latent=5, d_rope=4),
    "collaborative": lambda: CollaborativeAttention(12, 3, 6),
}
SIZES = {"growing": (None, None), "allocated": (9, None), "ring": (None, 2)}


def model(kind="rotary", **options):
    torch.manual_seed(0)
    return filled(Model(KINDS[kind], **options)).double().eval()


def ids(*shape):
    return torch.randint(N_IDS, shape)


def divisions(n):
    """Every way to cut a text of n tokens: 2^(n-1)."""
    for cuts in itertools.product([False, True], repeat=n - 1):
        ends = [i + 1 for i in range(n - 1) if cuts[i]] + [n]
        yield [end - start for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.nohook  # other tests check these shapes, of fewer calls
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_division_of_a_text_gives_the_numbers_of_one_call(kind, sizes):
    decoder, text = model(kind), ids(2, 5)
    rule = masks.sliding_window(2) if sizes == "ring" else masks.causal
    whole = decoder(text, mask=rule)
    for lengths in divisions(5):
        with kv_cache(decoder, cache=KVCache(*SIZES[sizes])) as cache:
            found = [decoder(part) for part in text.split(lengths, dim=1)]
        assert_close(torch.cat(found, dim=1), whole)
        assert cache.lengths == [5, 5]
    assert hooks(decoder) == 0


def test_every_layer_keeps_its_own_wires_under_its_path():
    decoder, text = model("plain"), ids(2, 4)
    with kv_cache(decoder) as cache:
        decoder(text[:, :3])
        decoder(text[:, 3:])
    for i, layer in enumerate(decoder.layers):
        with trace(layer.attention) as wires:
            decoder(text)
        for name in ("k_heads", "v_heads"):
            assert_close(cache.wires[f"layers.{i}.attention.{name}"], wires[name])
    assert len(cache.wires) == 2 * N_LAYERS
    path = "layers.{}.attention.{}_heads (2, 3, 4, 4)".format
    shown = ", ".join([path(0, "k"), path(0, "v"), path(1, "k")])
    assert repr(cache) == f"KVCache(4 tokens, 4,608 bytes: {shown} and 3 more)"


def test_a_model_with_one_attention_decodes_as_that_attention():
    decoder, text = model(n_layers=1), ids(2, 4)
    with kv_cache(decoder) as cache:
        found = [decoder(token) for token in text.split(1, dim=1)]
    assert_close(torch.cat(found, dim=1), decoder(text))
    assert set(cache.wires) == {"k_rotated", "v_heads"}


def test_ragged_prompts_have_the_same_positions_in_every_layer():
    decoder, text, later = model(), ids(2, 4), ids(2, 2)
    with kv_cache(decoder, left_padded([4, 2])) as cache:
        decoder(text)
        found = torch.cat([decoder(token) for token in later.split(1, dim=1)], dim=1)
        assert cache.lengths == [6, 4]
        with cache.at([[6, 7], [4, -1]]):
            more = decoder(text[:, :2])
    texts = [torch.cat([text[0], later[0]]), torch.cat([text[1, 2:], later[1]])]
    for item, one in enumerate(texts):
        assert_close(found[item], decoder(one)[-2:])
    assert cache.lengths == [8, 5]
    assert_close(more[1, 0], decoder(torch.cat([texts[1], text[1, :1]]))[-1])


def test_beams_go_on_from_what_another_beam_was():
    decoder, text = model(), ids(3, 5)
    order = torch.tensor([2, 0, 0, 1])
    with kv_cache(decoder) as cache:
        decoder(text[:, :3])
        cache.reorder(order)
        found = decoder(text[order, 3:])
        assert cache.lengths == [5] * 4
        cache.crop(4)
        again = decoder(text[order, 4:])
        cache.reset()
        other = decoder(text[:2])
    assert_close(found, decoder(text)[order, 3:])
    assert_close(again, found[:, 1:])
    assert_close(other, decoder(text[:2]))


# --- calls that fail -------------------------------------------------------------------------


@pytest.mark.nohook  # other tests check these shapes, of fewer calls
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.slow), "after"])
@pytest.mark.parametrize(
    "sizes", [pytest.param("growing", marks=pytest.mark.slow), "allocated", "ring"]
)
@pytest.mark.parametrize("kind", ["rotary", "latent"])
def test_wherever_a_call_fails_no_layer_is_ahead(kind, sizes, when):
    """In every module of every layer; then the sequences, of two lengths, go on."""
    text, failed, decoder = ids(2, 6), 0, model(kind)
    places = [path for path, _ in decoder.named_modules() if path]
    rule = masks.sliding_window(2) if sizes == "ring" else masks.causal
    whole = [decoder(one, mask=rule)[-2:] for one in (text[0], text[1, :4])]
    for path in places:
        with kv_cache(decoder, left_padded([4, 2]), cache=KVCache(*SIZES[sizes])) as cache:
            decoder(torch.stack([text[0, :4], text[1, [5, 5, 0, 1]]]))
            before = kept(cache)
            handle = breaks(decoder.get_submodule(path), when)
            try:
                decoder(ids(2, 1))
            except (RuntimeError, KeyboardInterrupt):
                failed += 1
            else:
                continue  # not called
            finally:
                handle.remove()
            assert kept(cache) == before, path
            later = torch.stack([text[0, 4:], text[1, 2:4]])
            found = [decoder(token) for token in later.split(1, dim=1)]
        assert_close(torch.cat(found, dim=1), torch.stack(whole))
    assert failed > 6 * N_LAYERS


def test_a_first_call_that_fails_in_the_last_layer_leaves_the_cache_empty():
    decoder, text = model(), ids(2, 3)
    with kv_cache(decoder, left_padded([3, 2])) as cache:
        handle = decoder.layers[-1].attention.W_O.register_forward_pre_hook(lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder(text)
        handle.remove()
        assert (cache.n_tokens, cache.wires) == (0, {})
        decoder(text)
        assert cache.lengths == [3, 2]


# --- decoders that read a context ------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_a_decoder_computes_the_keys_of_its_context_once(batch):
    decoder, text, memory = model("rotary", cross=plain), ids(*batch, 4), rand(*batch, 5, 12)
    seen = []
    for layer in decoder.layers:
        layer.cross.project.W_K.register_forward_hook(
            lambda W, args, output: seen.append(args[0].shape[-2])
        )
    whole = decoder(text, memory)
    seen.clear()
    with kv_cache(decoder, context=memory) as cache:
        found = [decoder(part, memory) for part in text.split([2, 1, 1], dim=-1)]
    assert_close(torch.cat(found, dim=-2), whole)
    assert seen == [5] * N_LAYERS + [0] * 2 * N_LAYERS
    assert cache.n_tokens == 4


@pytest.mark.nohook  # other tests check these shapes, of fewer calls
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n_before", [0, 2])
def test_a_decoder_that_fails_keeps_neither_tokens_nor_context(n_before, when):
    text, memory = ids(2, 4), rand(2, 5, 12)
    decoder = model("plain", cross=plain)
    whole = decoder(text, memory)
    for path, _ in decoder.named_modules():
        with kv_cache(decoder, context=memory) as cache:
            found = [decoder(text[:, i : i + 1], memory) for i in range(n_before)]
            before = kept(cache) if n_before else None
            handle = breaks(decoder.get_submodule(path), when)
            try:
                decoder(ids(2, 1), memory)
            except (RuntimeError, KeyboardInterrupt):
                pass
            else:
                continue
            finally:
                handle.remove()
            if path or when == "before":  # after the model the call has succeeded
                assert (kept(cache) if n_before else None) == before
                assert cache.n_tokens == n_before
                found.append(decoder(text[:, n_before:], memory))
                assert_close(torch.cat(found, dim=1), whole)


def test_a_layer_whose_weights_changed_is_refused_with_its_context():
    decoder, text, memory = model("plain", cross=plain), ids(2, 1), rand(2, 5, 12)
    with kv_cache(decoder, context=memory) as cache:
        decoder(text, memory)
        with torch.no_grad():
            decoder.layers[1].cross.project.W_K.weight.mul_(2)
        with pytest.raises(ValueError, match="the context or weights of MultiHeadAttention"):
            decoder(text, memory)
        assert cache.n_tokens == 1


class Lazy(MultiHeadAttention):
    """Leaves its split out."""

    def forward(self, x, context=None, mask=None):
        return self.W_O(self.project(x, context)[0])


@pytest.mark.bothways
def test_tokens_do_not_count_if_the_context_cannot_be_kept():
    decoder, text, memory = model("plain", cross=lambda: Lazy(12, 3)), ids(2, 1), rand(2, 5, 12)
    with kv_cache(decoder, context=memory) as cache:
        with pytest.raises(ValueError, match="the pass made 0 wires, the cache keeps 0"):
            decoder(text, memory)
        assert (cache.n_tokens, cache.wires) == (0, {})


# --- refused ---------------------------------------------------------------------------------


class Odd(MultiHeadAttention):
    """Calls its tokens by another name."""

    def forward(self, hidden, context=None, mask=None):
        return super().forward(hidden, context, mask)


UNCACHED = {
    "one": (
        {1: lambda: Odd(12, 3)},
        r"^layers\.1\.attention: kv_cache needs forward\(x, .*; Odd takes \['hidden'",
    ),
    "many": (
        dict.fromkeys(range(5), lambda: Odd(12, 3)),
        r"^layers\.0\.attention, layers\.1\.attention, layers\.2\.attention and 2 more: kv_",
    ),
    "fused": (
        dict.fromkeys(range(4), lambda: FusedMultiHeadAttention(12, 3)),
        r"^layers\.0\.attention, layers\.1.*, layers\.2\.attention and 1 more: .*; "
        r"FusedMultiHeadAttention shows no stages, which to_attention\(\) or a conv",
    ),
    "of torch": (
        {2: lambda: nn.MultiheadAttention(12, 3)},
        r"^layers\.2\.attention: kv_cache needs .*; MultiheadAttention shows no stages, which",
    ),
    "of transformers": (
        {0: lambda: LlamaAttention(LlamaConfig(hidden_size=12, num_attention_heads=3), 0)},
        r"^layers\.0\.attention: kv_cache needs .*; LlamaAttention shows no stages, which",
    ),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", UNCACHED)
def test_a_model_that_would_decode_past_the_cache_is_refused_by_three_paths(name):
    others, words = UNCACHED[name]
    decoder = model("plain", n_layers=6)
    for i, make in others.items():
        decoder.layers[i].attention = make()
    with pytest.raises(TypeError, match=words), kv_cache(decoder):
        pass
    assert hooks(decoder) == 0


@pytest.mark.bothways
def test_a_layer_called_alone_is_refused():
    decoder, text = model(), ids(2, 3)
    words = r"layers\.1\.attention was called outside a call of Model, whose tokens count as a"
    with kv_cache(decoder) as cache:
        first = decoder(text[:, :2])
        with pytest.raises(RuntimeError, match=words):
            decoder.layers[1](rand(2, 1, 12), None, None)
        assert cache.n_tokens == 2
        last = decoder(text[:, 2:])
    assert_close(torch.cat([first, last], dim=1), decoder(text))


@pytest.mark.bothways
def test_attentions_that_read_other_tokens_are_refused():
    """An encoder next to the decoder would count its own."""
    decoder, text = model(), ids(2, 3)
    pooled = decoder.layers[2]
    pooled.forward = lambda x, memory, mask: pooled.attention(x[:, -1:])
    words = r"layers\.2\.attention reads 1 tokens of batch \(2,\) on cpu, but .* it 3 of \(2,\)"
    with kv_cache(decoder) as cache:
        with pytest.raises(ValueError, match=words):
            decoder(text)
        assert cache.n_tokens == 0


@pytest.mark.bothways
@pytest.mark.parametrize("times", [0, 2])
def test_a_layer_that_is_left_out_or_runs_twice_is_refused(times):
    decoder, text = model(), ids(2, 4)
    with kv_cache(decoder) as cache:
        first, before, layer = decoder(text[:, :3]), kept(cache), decoder.layers[1]
        real = layer.forward

        def again(x, *rest):
            for _ in range(times):
                x = real(x, *rest)
            return x

        layer.forward = again
        words = r"layers\.1\.attention\.k_rotated' came as .*, once"
        if not times:
            words = (
                r"keeps 6, and they differ in layers\.1\.attention\.k_rotated, layers\.1\.att"
            )
        with pytest.raises(ValueError, match=words):
            decoder(text[:, 3:])
        del layer.forward
        assert kept(cache) == before
        last = decoder(text[:, 3:])
    assert_close(torch.cat([first, last], dim=1), decoder(text))


@pytest.mark.bothways
def test_a_block_in_a_block_is_refused():
    decoder = model()
    words = "GroupedQueryAttention has a cache already; use that of the with block around"
    for outer, inner in itertools.permutations([decoder, decoder.layers[1]]):
        with kv_cache(outer), pytest.raises(ValueError, match=words), kv_cache(inner):
            pass
    assert hooks(decoder) == 0


@pytest.mark.bothways
def test_another_context_or_one_that_was_not_announced_is_refused():
    decoder, text, memory = model("plain", cross=plain), ids(2, 1), rand(2, 5, 12)
    words = "a cache grows with x, but a context was given"
    for context in (None, memory.clone()):
        with kv_cache(decoder, context=context) as cache:
            with pytest.raises(ValueError, match=words):
                decoder(text, memory)
            assert cache.n_tokens == 0


@pytest.mark.bothways
def test_positions_have_no_place_in_cross_attention():
    decoder, text, memory = model("plain", cross=rotary), ids(2, 1), rand(2, 5, 12)
    words = r"layers\.0\.cross=RotarySplit places queries behind the keys"
    with kv_cache(decoder, context=memory) as cache, pytest.raises(TypeError, match=words):
        decoder(text, memory)
    assert cache.n_tokens == 0
