"""The weights, tokens and choices that an explorer takes, and the words in which it refuses."""

import pytest
import torch
from traitlets import TraitError

from mhsa_book.widgets import HeadExplorer, OwnSentence
from mhsa_book.widgets.packed import unpacked
from mhsa_lib import masks, trace
from tests.mhsa_book.widgets.head_explorer.random_heads import WORDS, explorer, weights
from tests.mhsa_lib.variants.registry import STAGED


def test_missing_leading_axes_are_one_layer_and_one_head():
    assert HeadExplorer(weights(6, 6), WORDS).shape == (1, 1, 6, 6)
    assert HeadExplorer(weights(4, 6, 6), WORDS).shape == (1, 4, 6, 6)
    assert HeadExplorer(weights(4, 2, 6), ["I", "see"], WORDS).shape == (1, 4, 2, 6)
    assert HeadExplorer(weights(2, 2, 1, 1), ["I"]).shape == (2, 2, 1, 1)
    assert HeadExplorer(weights(6, 6).half().requires_grad_(), WORDS).shape == (1, 1, 6, 6)


@pytest.mark.parametrize(
    ("given_weights", "tokens", "error", "message"),
    [
        (weights(3, 3).log(), "abc", ValueError, r"value -.*pass weights after softmax"),
        (weights(3, 3) * 2, "abc", ValueError, r"a row that sums to 2; .* rows sum to 1"),
        (weights(3, 3).mT, "abc", ValueError, "rows sum to 1 over keys"),
        (weights(2, 3, 3) * torch.nan, "abc", ValueError, r"weights\[0, 0, 0\] is nan; .* 0\."),
        (weights(3, 3) / 0, "abc", ValueError, r"weights\[0, 0\] is inf"),
        (weights(2, 3, 3), "ab", ValueError, r"2 tokens for 3 query positions: .*\(1, 2, 3, 3"),
        (weights(2, 3), "ab", ValueError, r"2 tokens for 3 key positions: .*key_tokens=…"),
        (torch.zeros(3), "abc", ValueError, r"weights \(3,\) are not \(layer, head, query"),
        (torch.zeros(1, 1, 1, 3, 3), "abc", ValueError, r"weights\[0\] of a batch"),
        (torch.zeros(2, 0, 0), "", ValueError, "each with a size"),
        ([[1.0]], "a", TypeError, "weights are a list; pass a tensor"),
    ],
)
def test_what_is_no_attention_is_refused_in_words(given_weights, tokens, error, message):
    with pytest.raises(error, match=message):
        HeadExplorer(given_weights, list(tokens))


@pytest.mark.parametrize("tokens", ["abc", [1, 2, 3], ["a", "b", None]])
def test_tokens_are_a_list_of_texts(tokens):
    with pytest.raises(TypeError, match=r"query tokens are .*pass a list of texts"):
        HeadExplorer(weights(3, 3), tokens)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"layer": 3}, "layer=3 does not exist; use 0 to 2"),
        ({"head": -1}, "head=-1 does not exist; use 0 to 3"),
        ({"query": 6}, "query=6 does not exist; use 0 to 5"),
        ({"key": 6}, "key=6 does not exist"),
        ({"compared": [0, 4]}, r"compared=\[0, 4\] is no head; .* below \[3, 4\]"),
        ({"compared": [0]}, r"compared=\[0\] is no head"),
        ({"sort": "beauty"}, "entropy.*confidence"),
        ({"direction": "up"}, "query to key"),
        ({"view": "cube"}, "heat map"),
    ],
)
def test_what_does_not_exist_cannot_be_chosen(chosen, message):
    with pytest.raises(TraitError, match=message):
        explorer(**chosen)
    figure = explorer()
    ((name, value),) = chosen.items()
    with pytest.raises(TraitError, match=message):
        setattr(figure, name, value)


@pytest.mark.parametrize("variant", STAGED, ids=lambda variant: variant.name)
def test_it_looks_into_every_variant(variant):
    attention, x = variant.build().eval(), torch.randn(5, 12)
    explorer = HeadExplorer.inside(attention, x, list("abcde"), masks.causal)
    with torch.no_grad(), trace(attention) as wires:
        attention(x, mask=masks.causal)
    assert explorer.shape == (1, attention.n_heads, 5, 5)
    found = unpacked(explorer.attention)[0].float()
    torch.testing.assert_close(found, wires["weights"], atol=1e-5, rtol=0)


def test_of_needs_a_model_that_reads_a_text():
    with pytest.raises(TypeError, match=r"Linear has no attend\(text\)"):
        HeadExplorer.of(torch.nn.Linear(2, 2), "I saw a cat")


def test_another_model_than_minilm_is_shown_without_its_own_sentence():
    attention, x = STAGED[0].build().eval(), torch.randn(5, 12)
    figure = OwnSentence.inside(attention, x, list("abcde"), masks.causal)
    assert isinstance(figure, HeadExplorer)
    assert not isinstance(figure, OwnSentence)
