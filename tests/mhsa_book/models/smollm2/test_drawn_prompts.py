"""Prompts that nobody chose: every way to run the model gives the logits of transformers."""

import copy
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, KVCache, convert, kv_cache, masks
from tests.helpers.padded import right_padded
from tests.mhsa_book.models.smollm2 import reference
from tests.mhsa_book.models.smollm2.texts import ODD, PROMPTS

pytestmark = [pytest.mark.slow, pytest.mark.nohook]
MANY = settings().max_examples > 25
MOST = 24
"""Tokens of a prompt that are kept: a pass over them takes a tenth of a second."""

WORDS = sorted({word for text in PROMPTS for word in text.split()} | {*filter(None, ODD)})
prompts = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join),
    st.text(min_size=1, max_size=20),
)
cuts = st.lists(st.integers(1, MOST), max_size=3)


@pytest.fixture(scope="module")
def theirs():
    return reference.theirs()[0]


@pytest.fixture(scope="module")
def decoder(lm):
    """In float64: in float32 rounding alone moves some logits of 30 by 5e-3."""
    return copy.deepcopy(lm._runner.decoder).double()


@pytest.fixture(scope="module")
def fused(decoder):
    attentions = [layer.attention for layer in decoder.layers]
    return [FusedMultiHeadAttention.from_attention(each) for each in attentions]


def close(found: Tensor, expected: Tensor) -> None:
    assert_close(found, expected, atol=1e-8, rtol=0)


def as_exact(found: Tensor, ours: Tensor, exact: Tensor) -> None:
    """Theirs, in float32, is no further from the numbers in float64 than ours may be."""
    error = (ours - exact).abs().max().item()
    assert_close(found.double(), exact, atol=1e-4 + 4 * error, rtol=0)


def parts(ids: Tensor, ends: list[int]) -> Iterator[Tensor]:
    whole = ids.shape[1]
    ends = sorted({min(end, whole) for end in ends} | {whole})
    return iter(ids.split([b - a for a, b in zip([0, *ends], ends, strict=False)], dim=1))


def by_fused(decoder, attentions, ids: Tensor, caches=None) -> Tensor:
    """The decoder's logits, its attentions fused."""
    x = decoder.embed(ids)
    caches = caches or [None] * len(attentions)
    for layer, attend, cache in zip(decoder.layers, attentions, caches, strict=True):
        x = x + attend(layer.attention_norm(x), mask=masks.causal, cache=cache)
        x = x + layer.feed_forward(layer.feed_forward_norm(x))
    return decoder.unembed(x)


@settings(max_examples=60 if MANY else 2)
@given(st.lists(prompts, min_size=2, max_size=2), cuts)
@torch.no_grad()
def test_whole_cached_fused_and_in_a_batch(lm, theirs, decoder, fused, texts, ends):
    each = [lm.ids(text)[:MOST] for text in texts]
    expected = [decoder(torch.tensor([ids]))[0] for ids in each]
    for one, exact in zip(each, expected, strict=True):
        ids = torch.tensor([one])
        as_exact(theirs(ids).logits[0], lm._runner.decoder(ids)[0], exact)

    ids = torch.tensor([each[0]])
    for found in (decoder(ids), by_fused(decoder, fused, ids)):
        close(found[0], expected[0])
    with kv_cache(decoder):
        staged = [decoder(part) for part in parts(ids, ends)]
    caches = [KVCache() for _ in fused]
    steps = [by_fused(decoder, fused, part, caches) for part in parts(ids, ends)]
    for found in (staged, steps):
        close(torch.cat(found, dim=1)[0], expected[0])

    lengths = [len(one) for one in each]
    batch = torch.zeros(2, max(lengths), dtype=torch.long)
    for row, one in zip(batch, each, strict=True):
        row[: len(one)] = torch.tensor(one)
    together = decoder(batch)
    with kv_cache(decoder) as cache:
        with cache.at(right_padded(lengths)):
            padded = decoder(batch)
        later = decoder(torch.tensor([one[-1:] for one in each]))
    for i, n in enumerate(lengths):
        close(together[i, :n], expected[i])
        close(padded[i, :n], expected[i])
        again = torch.tensor([each[i] + each[i][-1:]])
        close(later[i, 0], decoder(again)[0, -1])


@settings(max_examples=20 if MANY else 2)
@given(prompts)
@torch.no_grad()
def test_their_model_with_our_attentions_says_the_same(theirs, lm, decoder, text):
    ids = torch.tensor([lm.ids(text)[:MOST]])
    expected = theirs(ids).logits
    told = {"max_new_tokens": 4, "do_sample": False, "attention_mask": torch.ones_like(ids)}
    written = theirs.generate(ids, **told)
    convert.replace_attentions(theirs)
    try:
        as_exact(theirs(ids).logits, expected, decoder(ids))
        assert torch.equal(theirs.generate(ids, **told), written)
    finally:
        convert.restore_attentions(theirs)
    assert torch.equal(theirs(ids).logits, expected)
