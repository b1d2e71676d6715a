"""The head explorer: the numbers of PyTorch, any token, every control by mouse and keys."""

import base64
import csv
import io
import re
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from playwright.sync_api import expect
from traitlets import TraitError

from mhsa_lib import masks, measure, trace
from mhsa_lib.widgets import HeadExplorer
from mhsa_lib.widgets.head_explorer import head_explorer
from mhsa_lib.widgets.packed import packed, unpacked
from tests.battery.members import STAGED
from tests.book.test_axe import AXE
from tests.widgets.conftest import milliseconds, node

WORDS = ["[CLS]", "the", "cat", "saw", "it", "[SEP]"]
WILD = [
    '<img src=x onerror="alert(1)">',
    "</script><script>alert(2)</script>",
    "\"'`&amp;${1}",
    "שלום",
    "e\u0301\u0323",
    "👩‍👩‍👧‍👦",
    "",
    "w" * 1000,
    "\n\t\x00\x1b",
    "=1+1",
    "\u202eabc",
    "\ud800",
    " ",
]


def weights(*shape: int, seed: int = 0, causal: bool = False) -> torch.Tensor:
    scores = 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()
    if causal:
        n_query, n_key = shape[-2:]
        future = torch.ones(n_query, n_key).triu(n_key - n_query + 1).bool()
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(dim=-1)


def kept(w: torch.Tensor) -> torch.Tensor:
    """What is left of weights after 16 bits."""
    names = ["t"] * w.shape[-2], ["t"] * w.shape[-1]
    return unpacked(packed(w, *names)).reshape(w.shape)


def explorer(seed: int = 0, **chosen) -> HeadExplorer:
    return HeadExplorer(weights(3, 4, 6, 6, seed=seed), WORDS, **chosen)


class Model:
    """Two heads that look at the own token, two at the next; refuses a text without words."""

    def attend(self, text):
        tokens = text.split()
        if not tokens:
            raise ValueError(f"text {text!r} has no tokens; write a word.")
        eye = torch.eye(len(tokens))
        return tokens, torch.stack([eye, eye.roll(1, 1)]).expand(2, 2, *eye.shape)


# --- JavaScript and PyTorch ------------------------------------------------------------------

SIZES = [(1, 1), (1, 5), (2, 2), (6, 6), (3, 8), (17, 17), (5, 3)]


@pytest.mark.parametrize("causal", [False, True])
def test_measures_are_those_of_the_library(causal):
    cases = [weights(2, *size, seed=i, causal=causal) for i, size in enumerate(SIZES)]
    cases = [w.nan_to_num(0.0) for w in cases]
    cases.append(torch.cat([torch.zeros(2, 1, 4), weights(2, 3, 4)], dim=1))
    calls = [
        ("measure", w.flatten().tolist(), head * w[0].numel(), *w.shape[1:])
        for w in cases
        for head in (0, 1)
    ]
    answers = iter(node("head_explorer/measures", *calls))
    for w in cases:
        for head in (0, 1):
            one, got = w[head], next(answers)
            wanted = {
                "entropy": measure.entropy(one).mean(),
                "distance": measure.distance(one).mean(),
                "first": measure.on_key(one, 0),
                "confidence": measure.confidence(one),
            }
            for name, offset in (("previous", -1), ("own", 0), ("next", 1)):
                try:
                    wanted[name] = measure.at_offset(one, offset)
                except ValueError:
                    assert got.pop(name) == "NaN"
            assert got == pytest.approx({k: v.item() for k, v in wanted.items()}, abs=1e-5)


def test_agreement_is_that_of_the_library():
    w = weights(4, 5, 7, causal=True)
    calls = [("agreement", w.flatten().tolist(), 1, other, 5, 7) for other in range(4)]
    assert node("head_explorer/measures", *calls) == pytest.approx(
        measure.agreement(w)[1].tolist()
    )


@settings(max_examples=8, deadline=None)
@given(
    hidden=st.lists(st.sampled_from(WORDS), max_size=5, unique=True),
    renormalise=st.booleans(),
    seed=st.integers(0, 99),
)
def test_hiding_leaves_the_same_rows_in_python_and_on_the_page(hidden, renormalise, seed):
    figure = explorer(seed, layer=1, head=2, hidden=hidden, renormalise=renormalise)
    left, tokens, _ = figure.shown()
    places = [i for i, word in enumerate(WORDS) if word not in hidden]
    flat = unpacked(figure.attention).flatten().tolist()
    divide = renormalise and bool(hidden)
    kept_places, picked = node(
        "head_explorer/choosing",
        ("kept", WORDS, hidden),
        ("pick", flat, list(figure.shape), places, places, divide),
    )
    assert kept_places == places
    assert tokens == [WORDS[i] for i in places]
    ours = torch.tensor(picked).reshape(3, 4, *left.shape)[1, 2]
    # The page has 16 bits; a weight below half a step is shown as one: it is still a weight.
    torch.testing.assert_close(ours.double(), left, atol=1 / 65535, rtol=0)
    if divide:
        assert left.sum(-1).tolist() == pytest.approx([1.0] * len(left))


def test_sixteen_bits_are_exact_to_four_decimals_and_only_zero_is_zero():
    w = torch.cat([weights(1, 30, 30, causal=True), torch.tensor([1.0, 1e-9] + [0.0] * 28)
                   .expand(1, 1, 30)], dim=1)  # fmt: skip
    back = kept(w)
    assert (back - w).abs().max() < 1.6e-5
    assert torch.equal(back == 0, w == 0)


# --- the class -------------------------------------------------------------------------------


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


def test_a_text_is_attended_again_and_a_bad_one_keeps_the_last():
    figure = HeadExplorer.of(Model(), "I saw a cat", layer=1, head=1, query=3, key=3)
    assert figure.attention["tokens"] == ["I", "saw", "a", "cat"]
    figure.text = "you did"
    assert figure.attention["keys"] == ["you", "did"]
    assert figure.shape == (2, 2, 2, 2)
    assert (figure.query, figure.key) == (1, 1)
    figure.text = " "
    assert figure.problem == "text ' ' has no tokens; write a word."
    assert figure.attention["tokens"] == ["you", "did"]
    figure.text = "again"
    assert (figure.problem, figure.attention["tokens"]) == ("", ["again"])


def test_a_static_page_has_no_text_to_type():
    figure = HeadExplorer.of(Model(), "I saw")
    assert figure.state()["text"] is None
    assert HeadExplorer.of(Model(), "I saw").text == "I saw"


def test_the_alt_text_says_what_the_still_picture_shows():
    w = torch.tensor([[0.9, 0.1], [0.25, 0.75]]).expand(2, 1, 2, 2)
    figure = HeadExplorer(w, ["<b>", "saw"], layer=1)
    assert figure.alt == (
        "Heat map of layer 1, head 0, 2 queries by 2 keys. "
        "Its largest weight is 0.90, from <b> to <b>."
    )
    assert 'alt="Heat map of layer 1' in figure.html()
    assert "from <b>" not in figure.html()


def test_the_still_picture_is_that_of_the_chosen_head():
    same, other = explorer(layer=1, head=2), explorer(layer=1, head=3)
    assert head_explorer.png(same.still) == head_explorer.png(explorer(layer=1, head=2).still)
    assert head_explorer.png(same.still) != head_explorer.png(other.still)


def test_markup_in_tokens_stays_data_in_the_html():
    html = HeadExplorer(weights(2, 13, 13), WILD).html()
    assert "<img src=x" not in html
    assert "alert(2)</script>" not in html
    html.encode()  # half a character does not stop a page from being written


def test_what_a_page_cannot_carry_is_a_still_picture_that_says_the_repair():
    tokens = ["<i>"] * 40
    html = HeadExplorer(weights(6, 12, 40, 40), tokens, layer=2).html()
    assert "6 × 12 heads of 40 × 40 weights are 307,203 bytes" in html
    assert "a page carries 200,000 for one figure" in html
    assert "weights[2:3], or at most 32 tokens" in html
    assert 'src="data:image/png' in html
    assert "data-mhsa-figure" not in html
    assert "<i>" not in html
    assert "data-mhsa-figure" in HeadExplorer(weights(6, 12, 32, 32), tokens[:32]).html()


# --- the page --------------------------------------------------------------------------------


def table(page) -> list[list[str]]:
    """The text of the table twin."""
    page.locator("details", has_text="as a table").evaluate("d => { d.open = true }")
    page.wait_for_selector(".mhsa-twin td.mhsa-number")
    return page.locator(".mhsa-twin tr").evaluate_all(
        "rows => rows.slice(1).map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
    )


def assert_shows(page, w: torch.Tensor) -> None:
    expect(page.locator(".mhsa-twin")).to_have_count(1)
    page.wait_for_timeout(300)  # the table follows the picture
    got = torch.tensor([[float(number) for number in row] for row in table(page)])
    torch.testing.assert_close(got.double(), w, atol=6.6e-5, rtol=0)


def strongest(page) -> list[str]:
    return page.locator(".mhsa-words li").all_inner_texts()


def shown_measure(page, name: str):
    return page.locator("dl div", has_text=name).locator("dd")


def point_at(page, row: int, column: int, view: int = 0) -> None:
    """Move the mouse over one cell of a heat map of six by six."""
    box = page.locator("canvas:not(.mhsa-head canvas)").nth(view).bounding_box()
    n = len(WORDS)
    page.mouse.move(
        box["x"] + box["width"] * (column + 0.5) / n,
        box["y"] + box["height"] * (row + 0.5) / n,
    )


def said(page, text: str) -> None:
    expect(page.locator(".mhsa-said")).to_contain_text(text)


def test_every_head_is_a_button_and_shows_its_weights(open_figure):
    figure = explorer()
    page = open_figure(figure)
    w = unpacked(figure.attention)
    table(page)
    for layer, head in ((0, 0), (2, 3), (1, 2)):
        page.get_by_role("button", name=f"layer {layer}, head {head}").click()
        expect(page.locator(".mhsa-name").first).to_have_text(f"L{layer}H{head}")
        assert_shows(page, w[layer, head])
    expect(page.locator(".mhsa-head[aria-pressed=true]")).to_have_count(1)


PIXELS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, 6, 6);
  return Array.from({ length: 36 }, (_, i) => [...data.slice(4 * i, 4 * i + 4)]);
}"""


def test_pixels_of_a_small_head_are_its_weights(open_figure):
    w = kept(weights(1, 2, 6, 6, causal=True))
    page = open_figure(HeadExplorer(w, WORDS))
    drawn = page.locator(".mhsa-head canvas").nth(1).evaluate(PIXELS)
    steps = (w[0, 1] * 255).round().flatten() / 255
    colours = node("shared/colours", *[("weightColour", step.item()) for step in steps])
    for pixel, weight, colour in zip(drawn, w[0, 1].flatten(), colours, strict=True):
        red, green, blue, alpha = pixel
        assert alpha == (255 if weight else 0)
        assert not weight or colour == f"rgb({red},{green},{blue})"


@pytest.mark.parametrize("renormalise", [False, True])
def test_a_small_head_shows_what_is_left_over_its_whole_size(open_figure, renormalise):
    w = kept(weights(1, 2, 6, 6))
    hidden = [word for word in WORDS if word not in WORDS[1:3]]
    page = open_figure(HeadExplorer(w, WORDS, hidden=hidden, renormalise=renormalise))
    left = w[0, 1, 1:3, 1:3]
    left = left / left.sum(dim=-1, keepdim=True) if renormalise else left
    steps = (left * 255).round().flatten() / 255
    colours = node("shared/colours", *[("weightColour", step.item()) for step in steps])
    head = page.locator(".mhsa-head").nth(1)
    picture = Image.open(io.BytesIO(head.screenshot())).convert("RGB")
    side = head.bounding_box()["width"]
    places = [(side * i, side * j) for j in (0.25, 0.75) for i in (0.25, 0.75)]
    found = [picture.getpixel((round(i), round(j))) for i, j in places]
    assert [f"rgb({r},{g},{b})" for r, g, b in found] == colours


def test_arrow_keys_walk_through_the_heads(open_figure):
    page = open_figure(explorer())
    page.locator(".mhsa-head[aria-pressed=true]").focus()
    for key, name in (
        ("ArrowRight", "L0H1"), ("ArrowDown", "L1H1"), ("ArrowLeft", "L1H0"),
        ("ArrowLeft", "L0H3"), ("ArrowUp", "L0H3"), ("End", "L2H3"), ("ArrowDown", "L2H3"),
        ("Home", "L0H0"),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect(page.locator(".mhsa-name").first).to_have_text(name)
        expect(page.locator(".mhsa-head:focus")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".mhsa-head[tabindex='0']")).to_have_count(1)


def test_pointing_says_the_exact_weight_and_the_strongest_keys(open_figure):
    figure = explorer()
    w = unpacked(figure.attention)[0, 0]
    page = open_figure(figure)
    point_at(page, 2, 4)
    said(page, f"L0H0: “\u2068cat\u2069” gives “\u2068it\u2069” {w[2, 4]:.4f} of its weight.")
    values, places = w[2].topk(5)
    wanted = [f"{WORDS[p]}\n{v:.4f}" for v, p in zip(values, places, strict=True)]
    assert strongest(page) == wanted
    page.get_by_label("direction").select_option("key to query")
    values, places = w[:, 4].topk(5)
    assert [line.split()[1] for line in strongest(page)] == [f"{v:.4f}" for v in values]
    expect(page.locator(".mhsa-words p").first).to_have_text(
        f"Who looks at “\u2068it\u2069”? 6 queries give it {w[:, 4].sum():.2f} in all."
    )


@pytest.mark.parametrize("view", ["heat map", "lines"])
def test_arrow_keys_walk_through_the_weights(open_figure, view):
    figure = explorer(view=view, query=2, key=2)
    w = unpacked(figure.attention)[0, 0]
    page = open_figure(figure)
    grid = page.get_by_role("grid", name="layer 0, head 0")
    grid.focus()
    at = {
        "ArrowRight": (2, 3), "ArrowUp": (1, 3), "End": (1, 5), "PageDown": (5, 5),
        "ArrowDown": (5, 5), "ArrowLeft": (5, 4), "PageUp": (0, 4), "Home": (0, 0),
    }  # fmt: skip
    for key, (row, column) in at.items():
        page.keyboard.press(key)
        cell = page.locator(f"#{grid.get_attribute('aria-activedescendant')}")
        expect(cell).to_have_attribute("aria-colindex", str(column + 1))
        expect(cell).to_contain_text(f"{w[row, column]:.4f} from “\u2068{WORDS[row]}\u2069”")
    said(page, f"{w[0, 0]:.4f}")


def test_lines_are_as_wide_as_their_weights(open_figure):
    figure = explorer(view="lines", query=1, key=2)
    w = unpacked(figure.attention)[0, 0]
    page = open_figure(figure)
    strands = page.locator(".mhsa-strand")
    background = int((w >= 0.05).sum())
    expect(strands).to_have_count(background + 6)
    widths = strands.evaluate_all("all => all.map(l => Number(l.getAttribute('stroke-width')))")
    wanted = (6 * w[1]).clamp(min=0.4).tolist()
    assert widths[background:] == pytest.approx(wanted)
    box = page.get_by_role("grid").first.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 22 + 24 * 4.5)
    said(page, f"“\u2068it\u2069” gives “\u2068cat\u2069” {w[4, 2]:.4f}")
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 22 + 24 * 0.5)
    said(page, f"“\u2068it\u2069” gives “\u2068[CLS]\u2069” {w[4, 0]:.4f}")


@pytest.mark.parametrize("name", ["entropy", "previous", "first", "confidence"])
def test_heads_sort_by_a_measure(open_figure, name):
    figure = explorer(seed=3)
    w = unpacked(figure.attention)
    numbers = {
        "entropy": measure.entropy(w).mean(-1),
        "previous": measure.at_offset(w, -1),
        "first": measure.on_key(w, 0),
        "confidence": measure.confidence(w),
    }[name]
    page = open_figure(figure)
    page.get_by_label("sort").select_option(name)
    order = numbers.flatten().argsort(descending=True).tolist()
    wanted = [f"L{i // 4}H{i % 4} {numbers.flatten()[i]:.2f}" for i in order]
    assert page.locator(".mhsa-head").all_inner_texts() == wanted
    page.locator(".mhsa-head").first.click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mhsa-name").first).to_have_text(wanted[1].split()[0])
    page.get_by_label("sort").select_option("layer")
    names = page.locator(".mhsa-head").evaluate_all("all => all.map(b => b.title)")
    assert names == [f"layer {i // 4}, head {i % 4}" for i in range(12)]


def test_the_table_of_measures_sorts_by_its_headings(open_figure):
    figure = explorer(seed=3)
    confidence = measure.confidence(unpacked(figure.attention)).flatten()
    page = open_figure(figure)
    page.locator("summary", has_text="Measures of every head").click()
    rows = page.locator("details", has_text="Measures of every head").locator("tr")
    expect(rows).to_have_count(13)
    page.get_by_role("button", name="confidence").click()
    best = int(confidence.argmax())
    expect(rows.nth(1).locator("th")).to_have_text(f"L{best // 4}H{best % 4}")
    expect(rows.nth(1).locator("td").last).to_have_text(f"{confidence[best]:.2f}")
    expect(rows.first.locator("[aria-sort=descending]")).to_have_text("confidence")


def test_hiding_tokens_shows_what_is_left(open_figure):
    figure = explorer()
    page = open_figure(figure)
    table(page)
    page.get_by_label("hide [CLS]").check()
    page.get_by_label("hide [SEP]").check()
    figure.hidden = ["[CLS]", "[SEP]"]
    assert_shows(page, figure.shown()[0])
    page.get_by_label("divide what is left").uncheck()
    figure.renormalise = False
    assert_shows(page, figure.shown()[0])
    previous = measure.at_offset(figure.shown()[0], -1)
    expect(shown_measure(page, "previous")).to_have_text(f"{previous:.2f}")
    page.locator("summary", has_text=re.compile("hide .*tokens")).click()
    for word in ("the", "cat", "saw"):
        page.get_by_label(word, exact=True).check()
    expect(page.get_by_label("it", exact=True)).to_be_disabled()  # something has to stay
    expect(page.get_by_role("alert")).to_have_text("")
    said(page, "“\u2068it\u2069” gives “\u2068it\u2069”")


def test_two_heads_side_by_side_and_their_difference(open_figure):
    figure = explorer(query=1, key=2)
    w = unpacked(figure.attention)
    page = open_figure(figure)
    page.get_by_role("button", name="Compare L0H0").click()
    expect(page.locator(".mhsa-name:visible")).to_have_count(1)
    page.get_by_role("button", name="layer 2, head 1").click()
    expect(page.locator(".mhsa-name:visible")).to_have_text(["L2H1", "L0H0", "L2H1 − L0H0"])
    alike = measure.agreement(torch.stack([w[2, 1], w[0, 0]]))[0, 1]
    said(page, f"In L0H0: {w[0, 0, 1, 2]:.4f}. Over all queries the two agree to {alike:.2f}")
    difference = page.get_by_role("grid", name="minus").locator("[role=gridcell]")
    gap = f"{(w[2, 1] - w[0, 0])[1, 2]:.4f}".replace("-", "−")
    expect(difference).to_contain_text(gap)
    previous = measure.at_offset(w, -1)
    expect(shown_measure(page, "previous")).to_have_text(
        f"{previous[2, 1]:.2f} / {previous[0, 0]:.2f}"
    )
    expect(page.get_by_role("button", name="layer 0, head 0, compared")).to_have_count(1)
    point_at(page, 3, 3, view=1)
    said(page, f"{w[2, 1, 3, 3]:.4f} of its weight. In L0H0: {w[0, 0, 3, 3]:.4f}")
    page.get_by_role("button", name="Stop comparing").click()
    expect(page.locator(".mhsa-name:visible")).to_have_text(["L2H1"])


def test_exports_hold_what_is_seen_and_nothing_that_runs(open_figure):
    w = weights(1, 2, 13, 13, causal=True)
    page = open_figure(HeadExplorer(w, WILD, head=1))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save CSV").click()
    assert waiting.value.suggested_filename == "L0H1.csv"
    text = waiting.value.path().read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 169
    got = torch.tensor([float(row["weight"]) for row in rows]).reshape(13, 13)
    torch.testing.assert_close(got.double(), w[0, 1], atol=2e-5, rtol=0)
    assert rows[5]["key token"] == WILD[5]
    assert rows[9]["key token"] == "'=1+1"
    assert rows[13 * 7]["query token"] == WILD[7]
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save SVG").click()
    assert waiting.value.suggested_filename == "L0H1.svg"
    file = ElementTree.fromstring(waiting.value.path().read_text(encoding="utf-8"))
    named = "{http://www.w3.org/2000/svg}"
    squares = [r for r in file.iter(f"{named}rect") if r.get("fill", "").startswith("rgb")]
    assert len(squares) == int((w[0, 1] > 0).sum())
    assert {tag.tag for tag in file.iter()} <= {
        named + tag for tag in ("svg", "title", "style", "pattern", "path", "rect", "g", "text")
    }
    assert "<img src=x on…" in {t.text for t in file.iter(f"{named}text")}


def test_any_token_is_text(open_figure):
    page = open_figure(HeadExplorer(weights(2, 13, 13), WILD))
    for view in ("lines", "heat map"):
        page.get_by_label("draw as").select_option(view)
        page.get_by_role("grid").first.focus()
        for _ in WILD:
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowRight")
    page.locator("summary", has_text=re.compile("hide .*tokens")).click()
    table(page)
    heads = page.locator(".mhsa-twin tr").first.locator("th").all_inner_texts()
    assert heads[0] == "<img src=x on…"
    assert heads[6] == "(empty)"
    assert heads[7] == "w" * 13 + "…"
    assert heads[8] == "␊␉␀␛"
    assert heads[12] == "␣"
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_one_token_and_rows_of_zeros(open_figure):
    page = open_figure(HeadExplorer(torch.ones(2, 1, 1), ["I"]))
    said(page, "“\u2068I\u2069” gives “\u2068I\u2069” 1.0000 of its weight.")
    expect(shown_measure(page, "previous")).to_have_text("–")
    zeros = torch.stack([torch.zeros(3), *torch.eye(3)[1:]])
    page = open_figure(HeadExplorer(zeros, ["a", "b", "c"]))
    said(page, "“\u2068a\u2069” looks at nothing: its row is 0 everywhere.")
    assert strongest(page) == []
    assert table(page)[0] == ["0", "0", "0"]
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    said(page, "“\u2068b\u2069” gives “\u2068a\u2069” exactly 0.")


def test_other_keys_than_queries(open_figure):
    w = weights(1, 2, 3, 6)
    page = open_figure(HeadExplorer(w, ["ich", "sah", "es"], WORDS, query=2, key=2))
    said(page, f"“\u2068es\u2069” gives “\u2068cat\u2069” {w[0, 0, 2, 2]:.4f}")
    table(page)
    assert_shows(page, w[0, 0])
    headings = page.locator("dt").all_inner_texts()
    assert headings == ["entropy", "first", "confidence"]
    page.get_by_label("hide [CLS]").check()
    assert_shows(page, w[0, 0, :, 1:] / w[0, 0, :, 1:].sum(-1, keepdim=True))


def test_a_single_head_needs_no_choice_of_heads(open_figure):
    page = open_figure(HeadExplorer(weights(6, 6), WORDS))
    expect(page.locator(".mhsa-head:visible")).to_have_count(0)
    expect(page.get_by_label("sort")).to_be_hidden()
    expect(page.get_by_role("button", name="Compare")).to_be_hidden()
    expect(page.locator("summary", has_text="Measures of every head")).to_be_hidden()
    expect(page.locator(".mhsa-picture text[fill]").first).to_be_visible()


OTHER_MODEL = """async () => {
  const module = await [...window.mhsaModules.values()][0];
  const given = document.querySelector("[data-mhsa-figure] > script").textContent;
  const state = JSON.parse(given);
  const listeners = [];
  const el = document.createElement("div");
  el.id = "other";
  document.querySelector("main").append(el);
  window.saved = [];
  window.set = (name, value) => {
    state[name] = value;
    listeners.filter((one) => one[0] === `change:${name}`).forEach((one) => one[1]());
  };
  window.end = module.default.render({ el, model: {
    get: (name) => state[name],
    set: (name, value) => { window.saved.push([name, value]); window.set(name, value); },
    on: (event, listen) => listeners.push([event, listen]),
    off: (_, listen) => listeners.splice(listeners.findIndex((one) => one[1] === listen), 1),
    save_changes: () => window.saved.push("save"),
  } });
  window.listeners = listeners;
}"""


def test_a_trait_set_elsewhere_redraws_and_a_change_here_is_sent(open_figure):
    figure = explorer(query=1, key=2)
    w = unpacked(figure.attention)
    page = open_figure(figure)
    page.evaluate(OTHER_MODEL)
    other = page.locator("#other")
    expect(other.get_by_label("text", exact=True)).to_be_hidden()
    for name, value, shows in (
        ("layer", 2, "L2H0"), ("head", 3, "L2H3"), ("query", 4, f"{w[2, 3, 4, 2]:.4f}"),
        ("key", 5, f"{w[2, 3, 4, 5]:.4f}"), ("compared", [1, 1], "L2H3 − L1H1"),
        ("direction", "key to query", "Who looks at"), ("sort", "own", "L2H3 0."),
        ("text", "I saw", "text"), ("problem", "No <b>words</b>.", "No <b>words</b>."),
    ):  # fmt: skip
        page.evaluate("([name, value]) => window.set(name, value)", [name, value])
        expect(other).to_contain_text(shows)
    expect(other.get_by_label("text", exact=True)).to_have_value("I saw")
    page.evaluate("window.set('hidden', ['[CLS]'])")
    expect(other.get_by_label("hide [CLS]")).to_be_checked()
    page.evaluate("window.set('renormalise', false)")
    expect(other.get_by_label("divide what is left")).not_to_be_checked()
    page.evaluate("window.set('view', 'lines')")
    expect(other.locator(".mhsa-strand").first).to_be_attached()
    fewer = packed(w[:, :, :2, :2], ["a", "b"])
    fewer["weights"] = base64.b64encode(fewer["weights"]).decode()
    page.evaluate("(a) => { set('query', 1); set('key', 1); set('attention', a); }", fewer)
    expect(other.locator(".mhsa-picture").first).to_contain_text("querykeyabab")
    assert page.evaluate("window.saved") == []
    other.get_by_label("text", exact=True).fill("you did")
    other.get_by_label("text", exact=True).press("Enter")
    other.get_by_label("direction").select_option("query to key")
    assert page.evaluate("window.saved") == [
        ["text", "you did"], "save", ["direction", "query to key"], "save",
    ]  # fmt: skip
    page.evaluate("window.end()")
    assert page.evaluate("window.listeners.length") == 0
    assert other.inner_html() == ""


EXTENTS = "(all) => all.map((button) => [button.offsetWidth, button.offsetHeight])"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible_and_never_wider_than_the_page(open_figure, theme, width):
    figure = HeadExplorer(
        weights(2, 12, 6, 6), WORDS, compared=[1, 1], sort="entropy", hidden=["cat"]
    )
    page = open_figure(figure, width=width, theme=theme)
    page.locator("summary").evaluate_all(
        "all => all.forEach(s => { s.parentNode.open = true })"
    )
    table(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('main', { resultTypes: ['violations'] })")["violations"]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []
    for sort, view in (("layer", "heat map"), ("own", "lines")):
        page.get_by_label("sort").select_option(sort)
        page.get_by_label("draw as").select_option(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.locator(".mhsa-head").evaluate_all(EXTENTS)
        assert min(min(size) for size in sizes) >= 24


def test_twelve_heads_of_a_layer_are_in_sight_on_a_phone(open_figure):
    page = open_figure(HeadExplorer(weights(12, 12, 6, 6), WORDS), width=339)  # as in the book
    heads = page.locator(".mhsa-heads")
    assert heads.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    sizes = page.locator(".mhsa-head").evaluate_all(EXTENTS)
    assert min(min(size) for size in sizes) >= 24
    assert page.evaluate("document.documentElement.scrollWidth") == 339
    page.set_viewport_size({"width": 300, "height": 900})  # here they do not fit
    assert heads.evaluate("one => one.scrollWidth > one.clientWidth")
    assert "gradient" in heads.evaluate("one => getComputedStyle(one).backgroundImage")


def test_it_follows_the_width_of_its_place(open_figure):
    page = open_figure(explorer(), width=1000)
    wide = page.locator(".mhsa-map").first.bounding_box()["width"]
    page.set_viewport_size({"width": 320, "height": 900})
    page.wait_for_timeout(300)
    assert page.locator(".mhsa-map").first.bounding_box()["width"] < wide
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


# --- twelve layers of twelve heads on 64 tokens ----------------------------------------------

CHANGE = """async ([place, options]) => {
  const select = document.querySelectorAll("select")[place];
  const times = [];
  for (let i = 0; i < 9; i += 1) {
    select.selectedIndex = options[i % options.length];
    const start = performance.now();
    select.dispatchEvent(new Event("change"));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[4];
}"""
HOVER = """async () => {
  const grid = document.querySelector(".mhsa-cells");
  const times = [];
  for (let i = 0; i < 9; i += 1) {
    const box = grid.getBoundingClientRect();
    const place = { clientX: box.left + 120 + 20 * i, clientY: box.top + 120 + 15 * i };
    const start = performance.now();
    grid.dispatchEvent(new PointerEvent("pointermove", { ...place, bubbles: true }));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[4];
}"""
BACK_AND_FORTH = ("ArrowRight", "ArrowLeft")


@pytest.fixture
def large_page(open_figure, monkeypatch):
    monkeypatch.setattr(head_explorer, "LIMIT", 10**8)
    tokens = ["[CLS]", *(f"word{i}" for i in range(62)), "[SEP]"]
    return open_figure(HeadExplorer(weights(12, 12, 64, 64), tokens))


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("head", lambda page: milliseconds(page, ".mhsa-heads", "keydown", BACK_AND_FORTH)),
        (
            "arrow key",
            lambda page: milliseconds(page, ".mhsa-cells", "keydown", BACK_AND_FORTH),
        ),
        ("hover", lambda page: page.evaluate(HOVER)),
        ("sort", lambda page: page.evaluate(CHANGE, [0, [1, 2, 3, 4]])),
        ("hide [CLS]", lambda page: milliseconds(page, ".mhsa-tokens input", "click")),
        ("direction", lambda page: page.evaluate(CHANGE, [2, [1, 0]])),
        ("heat map or lines", lambda page: page.evaluate(CHANGE, [1, [1, 0]])),
    ],
)
@pytest.mark.parametrize("compared", [False, True])
def test_144_heads_of_64_tokens_answer_within_50_ms(large_page, report, name, act, compared):
    if compared:
        large_page.get_by_role("button", name="Compare L0H0").click()
        large_page.get_by_role("button", name="layer 6, head 6").click()
    # The best of three medians: other work on the machine is not the figure's.
    time = min(act(large_page) for _ in range(3))
    report(f"head explorer, 144 heads, 64 tokens, {1 + compared} large: {name} {time:.1f} ms")
    assert time < 50
