"""BertViz draws in a browser, and readers can choose layers and heads."""

import functools
import http.server
import os
import shutil
import threading

import pytest
import torch

from mhsa_lib import bertviz_adapter
from mhsa_lib.bertviz_adapter.views import head_view, model_view
from tests.bertviz_adapter.frames import NASTY, ROOT, views, weights

pytest.importorskip("bertviz")


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
