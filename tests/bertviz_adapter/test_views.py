"""BertViz stays in its frame: fixed ids, our libraries, tokens that are only ever data."""

import functools
import html
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from mhsa_lib import bertviz_adapter
from mhsa_lib.bertviz_adapter import page as bertviz_page
from mhsa_lib.bertviz_adapter.views import head_view, model_view

pytest.importorskip("bertviz")

ROOT = Path(__file__).parents[2]
NASTY = [
    "</script><script>window.stolen = 1</script>", "\"quote\"'", "back\\slash", "אבג", "😀",
    "x" * 1000, "\u2028", "<!--", "<b>&amp;", "PYTHON_PARAMS", "const params = ", "a\nb", "$&",
    "requirejs(['jquery', 'd3'], function", 'id="layer"', "‮txt",
]  # fmt: skip

views = pytest.mark.parametrize("view", [head_view, model_view])


def weights(n_tokens=3, n_layers=2, n_heads=2):
    return torch.softmax(torch.randn(n_layers, n_heads, n_tokens, n_tokens), dim=-1)


class Frame(HTMLParser):
    """Collects tags, and the text of every script."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data


def params(view):
    """Return the parameters as the script has them."""
    (script,) = [s for s in Frame(view.page).scripts if bertviz_page.PARAMS in s]
    _, after = script.split(bertviz_page.PARAMS, 1)
    return json.JSONDecoder().raw_decode(after)[0]


@views
def test_the_id_depends_on_the_content_alone(view):
    w = weights()
    once, again = (view(w, ["a", "b", "c"]) for _ in range(2))
    assert once._repr_html_() == again._repr_html_()
    assert once.id != view(w, ["a", "b", "d"]).id
    assert once.id != view(w.flip(0), ["a", "b", "c"]).id
    assert once.id != {head_view: model_view, model_view: head_view}[view](w, list("abc")).id
    assert once.id == view(w, ["a", "b", "c"], libraries="elsewhere").id


def test_another_process_writes_the_same_page():
    code = (
        "import torch; from mhsa_lib.bertviz_adapter import head_view\n"
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
    shown = params(page)["attention"][0]["left_text"]
    short = [token if len(token) <= 13 else token[:12] + "…" for token in NASTY]
    assert shown == short
    (script,) = [s for s in Frame(page.page).scripts if bertviz_page.PARAMS in s]
    line = next(line for line in script.splitlines() if bertviz_page.PARAMS in line)
    assert line.isascii()
    assert not set("<>&") & set(line)
    assert len(page.page) - len(plain.page) < 1000


@views
def test_the_numbers_are_the_weights_to_four_decimals_and_written_once(view):
    w = weights()
    page = view(w, list("abc"))
    shown = torch.tensor(params(page)["attention"][0]["attn"])
    torch.testing.assert_close(shown, w, atol=5.1e-5, rtol=0)
    number = params(page)["attention"][0]["attn"][0][0][0][0]
    assert page.page.count(f"[[[[{number},") == 1


def test_a_single_layer_may_come_without_its_axis():
    assert head_view(weights()[0], list("abc")).shape == (1, 2, 3, 3)


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
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_without_bertviz_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bertviz", None)
    with pytest.raises(ImportError, match=r"pip install mhsa_lib\[bertviz\]"):
        head_view(weights(), list("abc"))


def test_another_template_is_refused_loudly():
    with pytest.raises(RuntimeError, match=r"does not contain .* version 1\.4"):
        bertviz_page.Template.read("<div>something else</div>")


# --- in a browser ----------------------------------------------------------------------------


def missing(what):
    """Fail in CI; elsewhere skip, saying what was not there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing("no chromium on this machine: BertViz was not opened in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
            ],
        )
        yield browser
        browser.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens HTML as a page beside vendor/, every other host blocked."""
    vendor = ROOT / "vendor" / "vendor"
    if not vendor.exists():
        missing("no vendored JavaScript: run `make book`")
    (tmp_path / "vendor").symlink_to(vendor)
    (tmp_path / "book").mkdir()
    handler = functools.partial(Quiet, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    pages = []

    def visit(body, theme):
        page = browser.new_page(color_scheme=theme)
        pages.append(page)
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on(
            "console", lambda m: m.type in ("error", "warning") and page.wrong.append(m.text)
        )
        page.on("requestfailed", lambda request: page.wrong.append(request.url))
        page.route("**/*", lambda route: go_on(route))
        head = '<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,">'
        (tmp_path / "book" / "page.html").write_text(head + body, encoding="utf-8")
        page.goto(f"{base}/book/page.html")
        return page

    def go_on(route):
        local = route.request.url.startswith((base, "data:", "about:"))
        route.continue_() if local else route.abort()

    yield visit
    for page in pages:
        page.close()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@views
def test_it_draws_in_a_browser_with_nothing_but_the_vendored_libraries(open_page, view, theme):
    n = len(NASTY)
    page = open_page(view(weights(n), NASTY)._repr_html_(), theme)
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("line", state="attached")
    layers = 1 if view is head_view else 2
    assert frame.locator("line").count() == layers * 2 * n * n
    assert frame.evaluate("window.stolen") is None
    assert page.evaluate("window.stolen") is None
    assert (
        frame.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.wrong == []


def test_readers_can_choose_another_layer_and_switch_heads_off(open_page):
    w = torch.stack([torch.eye(3), torch.eye(3).roll(1, 1)]).unsqueeze(1).expand(2, 2, 3, 3)
    page = open_page(head_view(w, list("abc"))._repr_html_(), "light")
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("line", state="attached")

    def opacities():
        return frame.evaluate(
            "[...document.querySelectorAll('line')].map(l => +l.getAttribute('stroke-opacity'))"
        )

    assert opacities()[:9] == [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5]
    frame.get_by_label("Layer").select_option("1")
    assert opacities()[:9] == [0, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0]
    frame.locator("rect[width='20']").first.click()
    assert opacities()[:9] == [0] * 9
    assert opacities()[9:] == [0, 1, 0, 0, 0, 1, 1, 0, 0]


def test_a_click_in_the_model_view_shows_a_head_with_its_tokens(open_page):
    page = open_page(model_view(weights(), ["one", "two", "six"])._repr_html_(), "light")
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("line", state="attached")
    frame.locator("rect[style*='opacity: 0']").first.click()
    assert "Layer 0, Head 0" in frame.locator("text.detail").all_text_contents()[0]
    assert frame.locator("text.token").all_text_contents() == ["one", "two", "six"] * 2


def test_without_any_library_the_frame_says_so(open_page):
    page = open_page(
        head_view(weights(), list("abc"), libraries="../nowhere")._repr_html_(), "light"
    )
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("p")
    assert "did not load from ../nowhere" in frame.locator("p").inner_text()


def test_where_the_first_address_is_silent_the_second_answers(open_page):
    view = head_view(weights(), list("abc"), libraries=["../nowhere", "../vendor"])
    page = open_page(view._repr_html_(), "light")
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("line", state="attached")
    assert frame.locator("line").count() == 18
    assert bertviz_adapter.LIBRARIES[0] == "../vendor"
