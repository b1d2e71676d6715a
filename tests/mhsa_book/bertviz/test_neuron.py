"""The neuron view shows the queries and keys it was given, and weights made of them."""

import pytest
import torch

from mhsa_book.bertviz import neuron_view
from mhsa_book.bertviz.page import Template
from mhsa_lib import MultiHeadAttention, masks, trace
from tests.mhsa_book.bertviz.frames import params, shown

pytest.importorskip("bertviz")


def heads(n_layers=2, n_heads=3, n_tokens=4, d_head=5):
    return 3 * torch.randn(2, n_layers, n_heads, n_tokens, d_head)


def close(numbers, wanted):
    torch.testing.assert_close(torch.tensor(numbers), wanted, atol=5.1e-5, rtol=0)


def test_queries_keys_and_weights_are_shown_to_four_decimals():
    q, k = heads()
    data = shown(neuron_view(q, k, list("abcd")))
    close(data["queries"], q)
    close(data["keys"], k)
    close(data["attn"], torch.softmax(q @ k.mT / 5**0.5, dim=-1))


def test_two_tokens_worked_by_hand():
    q = torch.tensor([[[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]]])
    k = torch.tensor([[[0.0, 5.0, 0.0, 0.0], [2.1972246, 0.0, 0.0, 0.0]]])  # 2 ln 3
    data = shown(neuron_view(q, k, ["I", "see"]))
    assert data["attn"] == [[[[0.25, 0.75], [0.5, 0.5]]]]
    assert data["queries"] == [[[[1, 0, 0, 0], [0, 0, 0, 2]]]]
    assert data["keys"] == [[[[0, 5, 0, 0], [2.1972, 0, 0, 0]]]]


def test_a_trace_fills_it_and_the_weights_are_those_of_the_trace():
    attention = MultiHeadAttention(d_model=12, n_heads=3)
    with trace(attention) as wires:
        attention(torch.randn(1, 4, 12), mask=masks.causal)
    view = neuron_view(wires["q_heads"], wires["k_heads"], list("abcd"), mask=masks.causal)
    close(shown(view)["attn"], wires["weights"].detach())


def test_the_script_is_told_which_head_to_show_first_and_what_no_query_sees():
    q, k = heads()
    told = params(neuron_view(q, k, list("abcd"), layer=1, head=2))
    assert (told["layer"], told["head"]) == (1, 2)
    assert told["bidirectional"]
    assert told["scale"] == 5**-0.5
    causal = neuron_view(q, k, list("abcd"), mask=masks.causal)
    assert not params(causal)["bidirectional"]
    padded = neuron_view(q, k, list("abcd"), mask=torch.tensor([True, True, True, False]))
    assert params(padded)["bidirectional"]
    assert {row[-1] for head in shown(padded)["attn"][0] for row in head} == {0}


def test_another_scale_changes_the_weights_alone():
    q, k = heads()
    view = neuron_view(q, k, list("abcd"), scale=1.0)
    assert params(view)["scale"] == 1.0
    close(shown(view)["attn"], torch.softmax(q @ k.mT, dim=-1))
    close(shown(view)["queries"], q)


def test_half_precision_is_enough_to_come_in():
    q, k = heads().half()
    view = neuron_view(q, k, list("abcd"))
    weights = torch.softmax(q.double() @ k.double().mT / 5**0.5, dim=-1)
    close(shown(view)["attn"], weights.float())


def test_one_layer_may_come_without_its_axis_and_leading_spaces_are_shown():
    q, k = heads(1)
    view = neuron_view(q[0], k[0], ["I", "Ġsee", "▁it", "!"])
    assert repr(view) == "BertViz neuron view: 1 layers, 3 heads, 4 tokens"
    assert shown(view)["left_text"] == ["I", " see", " it", "!"]
    assert view.id == neuron_view(q, k, ["I", "Ġsee", "▁it", "!"]).id


def test_all_heads_of_a_small_model_stay_below_a_megabyte():
    q, k = heads(6, 12, 16, 32)
    size = len(neuron_view(q, k, ["word"] * 16)._repr_html_().encode())
    assert 0.5e6 < size < 1e6
    assert len(neuron_view(q[:1], k[:1], ["word"] * 16)._repr_html_().encode()) < size / 4


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"q_heads": torch.ones(4, 5)},
            r"q_heads \(4, 5\) .* not \(layer, head, query, d_head",
        ),
        ({"q_heads": torch.ones(1, 3, 0, 5)}, r"not \(layer, head, query, d_head"),
        ({"k_heads": torch.ones(2, 1, 4, 5)}, r"\(2, 1, 4, 5\) differ: .*share_heads"),
        ({"k_heads": torch.ones(2, 3, 6, 5)}, r"a key for each query"),
        ({"tokens": ["a"]}, r"1 tokens for q_heads \(2, 3, 4, 5\) .* one token for each"),
        ({"q_heads": torch.full((2, 3, 4, 5), float("nan"))}, "hold NaN or infinity"),
        ({"k_heads": torch.full((2, 3, 4, 5), float("inf"))}, "hold NaN or infinity"),
        ({"layer": 2}, "layer=2 does not exist; choose one from 0 to 1"),
        ({"layer": -1}, "layer=-1 does not exist"),
        ({"head": 3}, "head=3 does not exist; choose one from 0 to 2"),
        ({"scale": float("nan")}, "scale=nan is not finite; leave it out"),
        ({"mask": torch.ones(4, 5, dtype=torch.bool)}, r"mask \(4, 5\) does not fit"),
        ({"libraries": []}, "libraries names no address"),
    ],
)
def test_mistakes_are_named(change, message):
    q, k = heads()
    with pytest.raises(ValueError, match=message):
        neuron_view(**({"q_heads": q, "k_heads": k, "tokens": list("abcd")} | change))


def test_another_script_is_refused_loudly():
    with pytest.raises(RuntimeError, match=r"does not contain .* version 1\.4"):
        Template.neuron("requirejs(['jquery', 'd3'], something else)", {})
