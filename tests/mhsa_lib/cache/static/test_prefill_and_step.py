"""A prompt at once, then token by token: each text as if it were alone."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mhsa_lib import masks
from tests.helpers.drawn import rand
from tests.mhsa_lib.cache.static.heads import KV_HEADS, assert_close, build


@given(st.integers(0, 5), st.integers(1, 4), st.sampled_from(list(KV_HEADS)))
def test_a_prompt_and_then_token_by_token_is_one_causal_pass(prompt, n_steps, kind):
    fused, x = build(kind), rand(2, prompt + n_steps, 12)
    cache = fused.cache(2, prompt + n_steps)
    found = [fused.prefill(x[:, :prompt], cache)]
    found += [fused.step(token, cache) for token in x[:, prompt:].split(1, dim=1)]
    assert_close(torch.cat(found, dim=1), fused(x, mask=masks.causal))


@st.composite
def ragged(draw):
    """How many tokens each of two sequences brings in every call, and the padding behind."""
    calls = draw(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4)
    )
    return [(lengths, max(lengths) + draw(st.integers(0, 1))) for lengths in calls]


@given(ragged(), st.sampled_from([None, 1, 2, 3, 9]), st.sampled_from(list(KV_HEADS)))
def test_ragged_prompts_in_parts_are_each_as_if_alone(calls, window, kind):
    """Parts of any lengths, padded behind, and a token for everyone after each."""
    fused, texts, found = build(kind), [[], []], [[], []]
    cache = fused.cache(2, 20, window=window)
    for lengths, n_tokens in calls:
        x, token = rand(2, n_tokens, 12), rand(2, 1, 12)
        y, later = fused.prefill(x, cache, lengths), fused.step(token, cache)
        for item, length in enumerate(lengths):
            texts[item] += [x[item, :length], token[item]]
            found[item] += [y[item, :length], later[item]]
            assert_close(y[item, length:], fused.W_O.bias.expand(n_tokens - length, -1))
    rule = masks.causal if window is None else masks.sliding_window(window)
    for text, y in zip(texts, found, strict=True):
        assert_close(torch.cat(y), fused(torch.cat(text)[None], mask=rule)[0])
    assert cache.lengths == [sum(map(len, text)) for text in texts]


def test_padding_takes_no_room_and_may_be_anything():
    fused, x = build("grouped"), rand(2, 4, 12)
    cache, short = fused.cache(2, 4), fused.cache(1, 3)
    x[1, 2:] = float("nan")
    fused.prefill(x[:, :3], cache, [3, 2])
    later = fused.step(x[:, :1], cache)
    fused.prefill(x[1:, :2], short)
    assert_close(later[1:], fused.step(x[1:, :1], short))
    assert (cache.lengths, cache.n_tokens) == ([4, 3], 4)


def test_a_prompt_that_failed_can_be_given_again():
    fused, x = build("plain"), rand(2, 3, 12)
    cache = fused.cache(2, 5)
    with pytest.raises(ValueError, match=r"x has shape|8 wide"):
        fused.prefill(rand(2, 3, 8), cache, [3, 1])
    expected = fused.step(x[:, :1], fused.cache(2, 5))
    assert_close(fused.step(x[:, :1], cache), expected)
