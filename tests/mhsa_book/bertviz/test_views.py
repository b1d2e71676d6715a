"""BertViz stays in its frame: fixed ids, our libraries, tokens that are only ever data."""

import html
import json
import os
import subprocess
import sys

import pytest
import torch

from mhsa_book.bertviz import page as bertviz_page
from mhsa_book.bertviz.views import head_view, model_view
from tests.mhsa_book.bertviz.frames import (
    NASTY,
    ROOT,
    Frame,
    drawn_neurons,
    params,
    shown,
    views,
    weights,
)  # fmt: skip

pytest.importorskip("bertviz")


@views
def test_the_id_depends_on_the_content_alone(view):
    w = weights()
    once, again = (view(w, ["a", "b", "c"]) for _ in range(2))
    assert once._repr_html_() == again._repr_html_()
    assert once.id != view(w, ["a", "b", "d"]).id
    assert once.id != view(w.flip(0), ["a", "b", "c"]).id
    others = {head_view, model_view, drawn_neurons} - {view}
    assert once.id not in {other(w, list("abc")).id for other in others}
    assert once.id == view(w, ["a", "b", "c"], libraries="elsewhere").id


def test_another_process_writes_the_same_page():
    code = (
        "import torch; from mhsa_book.bertviz import head_view\n"
        "print(head_view(torch.eye(2).expand(1, 2, 2, 2), ['I', 'see'])._repr_html_(), end='')"
    )
    here = head_view(torch.eye(2).expand(1, 2, 2, 2), ["I", "see"])._repr_html_()
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    there = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert there == here


@views
def test_the_script_draws_into_the_element_of_that_id(view):
    page = view(weights(), list("abc"))
    ids = [attrs.get("id") for _, attrs in Frame(page.page).tags]
    assert ids.count(page.id) == 1
    assert params(page)["root_div_id"] == page.id
    ((tag, attrs),) = Frame(page._repr_html_()).tags
    assert (tag, attrs["id"]) == ("iframe", f"{page.id}-frame")
    assert attrs["srcdoc"] == page.page


@views
def test_libraries_come_from_the_given_address_and_no_other(view):
    page = view(weights(), list("abc"), libraries="../vendor/")._repr_html_()
    text = html.unescape(page)
    assert "http" not in text.replace("http://www.w3.org", "")
    for name in ("require", "d3", "jquery"):
        assert f"../vendor/{name}.min" in text


@views
def test_by_default_the_page_looks_beside_itself_first_and_then_at_the_cdn(view):
    page = view(weights(), list("abc")).page
    assert 0 < page.index("../vendor/require.min.js") < page.index(bertviz_page.CDN)


def test_an_address_cannot_break_out_either():
    page = head_view(weights(), list("abc"), libraries='"></script><b>')
    written = [
        json.JSONDecoder().raw_decode(script.split("document.write(")[1])[0]
        for script in Frame(page.page).scripts
        if "document.write(" in script
    ]
    assert len(written) == 2
    tags = [tag for part in (page.page, *written) for tag, _ in Frame(part).tags]
    assert "b" not in tags


@views
def test_tokens_never_leave_the_data(view):
    page = view(weights(len(NASTY)), NASTY)
    plain = view(weights(len(NASTY)), ["word"] * len(NASTY))
    assert [tag for tag, _ in Frame(page.page).tags] == [
        tag for tag, _ in Frame(plain.page).tags
    ]
    short = [token if len(token) <= 13 else token[:12] + "…" for token in NASTY]
    assert shown(page)["left_text"] == shown(page)["right_text"] == short
    (script,) = [s for s in Frame(page.page).scripts if bertviz_page.PARAMS in s]
    line = next(line for line in script.splitlines() if bertviz_page.PARAMS in line)
    assert line.isascii()
    assert not set("<>&") & set(line)
    assert len(page.page) - len(plain.page) < 1000


@pytest.mark.parametrize("view", [head_view, model_view])
def test_the_numbers_are_the_weights_to_four_decimals_and_written_once(view):
    w = weights()
    page = view(w, list("abc"))
    numbers = shown(page)["attn"]
    torch.testing.assert_close(torch.tensor(numbers), w, atol=5.1e-5, rtol=0)
    number = numbers[0][0][0][0]
    assert page.page.count(f"[[[[{number},") == 1


def test_a_single_layer_may_come_without_its_axis():
    assert head_view(weights()[0], list("abc")).shape == (1, 2, 3, 3)


@pytest.mark.parametrize("view", [head_view, model_view])
@pytest.mark.parametrize(
    "given",
    [
        lambda w: tuple(layer[None] for layer in w),  # outputs.attentions of transformers
        lambda w: [layer[None].requires_grad_() for layer in w],
        lambda w: list(w),
        lambda w: w.numpy(),
        lambda w: w.tolist(),
    ],
)
def test_weights_may_come_as_other_libraries_hand_them_over(view, given):
    w = weights()
    assert view(given(w.clone()), list("abc")).page == view(w, list("abc")).page


def test_the_attentions_of_a_model_of_transformers_are_drawn():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(num_hidden_layers=2, attn_implementation="eager", **sizes)
    model = transformers.BertModel(config).eval()
    found = model(torch.tensor([[3, 4, 5]]), output_attentions=True).attentions
    numbers = torch.tensor(shown(head_view(found, list("abc")))["attn"])
    torch.testing.assert_close(numbers, torch.cat(found), atol=5.1e-5, rtol=0)


def test_it_names_itself_for_those_who_do_not_see_it():
    ((_, attrs),) = Frame(head_view(weights(), list("abc"))._repr_html_()).tags
    assert attrs["title"].startswith("BertViz head view: 2 layers, 2 heads, 3 tokens")


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: head_view(torch.eye(3), list("abc")), r"\(3, 3\) are not \(layer, head"),
        (lambda: model_view(weights(), ["a"]), r"1 tokens for weights \(2, 2, 3, 3\)"),
        (lambda: head_view(weights() * 5, list("abc")), r"outside \[0, 1\]"),
        (lambda: head_view(weights() * float("nan"), list("abc")), "hold NaN"),
        (lambda: head_view(weights(), list("abc"), layer=2), "layer=2 does not exist.* 0 to 1"),
        (lambda: head_view(weights(), list("abc"), libraries=[]), "libraries names no address"),
        (
            lambda: head_view([weights(), weights()], list("abc")),
            "weights of 2 sequences; choose",
        ),
        (lambda: head_view([weights(3), weights(4)], list("abc")), "weights .* of one kind"),
        (lambda: head_view(weights()[..., :2], list("abc")), r"cross_attention=…, encoder_tok"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("given", [(None, None), None, "weights", [[1.0], [1.0, 2.0]]])
def test_what_is_no_tensor_is_named(given):
    with pytest.raises(TypeError, match=r"pass a tensor .*attn_implementation='eager'"):
        head_view(given, list("abc"))


def test_without_bertviz_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bertviz", None)
    with pytest.raises(ImportError, match=r"pip install mhsa_lib\[bertviz\]"):
        head_view(weights(), list("abc"))


def test_another_template_is_refused_loudly():
    with pytest.raises(RuntimeError, match=r"does not contain .* version 1\.4"):
        bertviz_page.Template.read("<div>something else</div>")
