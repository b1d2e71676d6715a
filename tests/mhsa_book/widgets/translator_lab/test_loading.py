"""The weights of the translator come when they are asked for, from a file and over http."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import expect

from mhsa_book.widgets import TranslatorLab
from mhsa_book.widgets.translator_lab import weights
from tests.mhsa_book.widgets.translator_lab.reader import load, translation
from tools.build import assets


def test_nothing_is_loaded_before_the_button_is_pressed_and_its_size_is_true(
    open_figure, beside
):
    page = open_figure(TranslatorLab())
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    assert page.locator(".mhsa-rules").inner_text() == (
        "By the rules: hai dastu dastu dastu nalesh nolu krada"
    )
    assert page.locator(".mhsa-gold").count() == 8
    page.get_by_label("The translation begins with").select_option("hoi")
    page.get_by_text("By the rules: hoi dastu dastu dastu nalesh nolu krado").wait_for()
    page.get_by_label("The translation begins with").select_option("what the model likes")
    (size,) = beside.values()
    page.get_by_role("button", name=f"Load the model ({size / 1000:.0f} kB)").click()
    page.locator(".mhsa-said-words").wait_for()
    assert [url.rpartition("/")[2] for url in asked] == [*beside]
    assert asked[0].startswith("file:")
    assert page.get_by_role("button", name="Load the model").count() == 0
    page.get_by_text("Loaded: the model.").wait_for()
    assert page.locator("script[src]").count() == 0
    assert page.evaluate("mhsaAssets.size") == 0
    assert translation(page) == TranslatorLab().translation


def test_it_comes_over_http_too_from_the_root_of_a_book(tabs, tmp_path, beside):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    (tmp_path / "notebooks").mkdir()
    html = TranslatorLab().html()
    page_of_sphinx = f'<!doctype html><html lang="en" data-content_root="../">{html}'
    (tmp_path / "notebooks" / "page.html").write_text(page_of_sphinx, encoding="utf-8")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = tabs.browser.new_page()
        page.goto(f"http://localhost:{server.server_port}/notebooks/page.html")
        load(page)
        assert translation(page) == TranslatorLab().translation
        page.close()
        server.shutdown()


def test_where_the_model_is_missing_the_page_says_what_to_do_and_tries_again(tabs, tmp_path):
    file = tmp_path / "alone.html"
    file.write_text(f"<!doctype html>{TranslatorLab().html()}", encoding="utf-8")
    page = tabs.browser.new_page()
    page.goto(file.as_uri())
    page.get_by_role("button", name="Load the model").click()
    alert = page.locator(".mhsa-loading [role=alert]")
    expect(alert).to_contain_text("vendor/assets/translator-")
    expect(alert).to_contain_text("is not beside this page. It lies in the built book:")
    expect(alert).to_contain_text("“make book”")
    assets.write(tmp_path / "vendor" / "assets", (weights.asset,))
    load(page)
    expect(alert).to_have_count(0)
    page.close()


def test_an_asset_of_another_size_is_refused(open_figure, beside, tmp_path):
    (file,) = (tmp_path / "vendor" / "assets").iterdir()
    key = file.name.removesuffix(".js")
    file.write_text(f'window.mhsaAssets.set("{key}", "AAAA");', encoding="utf-8")
    page = open_figure(TranslatorLab())
    page.get_by_role("button", name="Load the model").click()
    alert = page.locator(".mhsa-loading [role=alert]")
    expect(alert).to_contain_text(f"does not have the {len(weights.asset().data)} bytes")
    assert page.locator(".mhsa-said-words").count() == 0
