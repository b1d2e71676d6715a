"""The model comes over http and stays in the browser; with a kernel Python is asked."""

import base64

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import LanguageModelLab
from mhsa_book.widgets.language_model_lab import weights
from tests.mhsa_book.widgets.language_model_lab.prompts import TWENTY
from tests.mhsa_book.widgets.language_model_lab.reader import (
    ROOT,
    WAIT,
    cache,
    drawn,
    load,
    read,
    switch,
    words,
)
from tools.check.browser import serve

STALE = """async (key) => {
  const place = await caches.open("mhsa-assets");
  const folder = `${location.origin}/vendor/assets`;
  await place.put(`${folder}/smollm2-00000000.0.bin`, new Response("old"));
  await place.put(`${folder}/other-00000000.0.bin`, new Response("other"));
}"""
KEPT = """async () => (await (await caches.open("mhsa-assets")).keys()).map(({ url }) => url)"""
MOUNT = """async () => {
  const el = document.querySelector("[data-mhsa-figure]");
  const state = JSON.parse(el.querySelector('script[type="application/json"]').textContent);
  const listeners = {};
  const of = (event) => (listeners[event] ??= new Set());
  const dataOf = (text) =>
    new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const model = {
    get: (name) => state[name],
    on: (event, listen) => of(event).add(listen),
    off: (event, listen) => of(event).delete(listen),
    set: (name, value) => { state[name] = value; },
    save_changes() {},
    async send(question) {
      const [said, buffers] = await toPython(question);
      for (const listen of [...of("msg:custom")]) listen(said, buffers.map(dataOf));
    },
  };
  const [loading] = window.mhsaModules.values();
  el.querySelector(".mhsa-body").remove();
  (await loading).default.render({ model, el });
}"""


def test_over_http_the_bytes_come_as_they_are_once_and_are_kept(tabs, tmp_path, beside):
    html = f'<!doctype html><html lang="en"><meta charset="utf-8">{LanguageModelLab().html()}'
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    with serve(tmp_path) as address:
        page = tabs.browser.new_page()
        page.goto(f"{address}/page.html")
        page.evaluate(STALE)
        for visit in range(2):
            asked = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(f"{address}/page.html")
            size = f"{weights.SIZE / 1e6:.1f} MB"
            page.get_by_role("button", name=f"Load the model ({size})").wait_for()
            load(page)
            assert words(page)[0][0] == " Mary"
            binaries = [url for url in asked if url.endswith(".bin")]
            assert len(binaries) == (0 if visit else weights.about()["parts"])
            assert {url.split("/")[2] for url in asked if url.startswith("http")} == {
                address.split("/")[2]
            }
        kept = page.evaluate(KEPT)
        assert len(kept) == weights.about()["parts"] + 1
        assert sum("other-00000000" in url for url in kept) == 1
        page.close()


@pytest.mark.slow
def test_with_a_kernel_python_is_asked_and_nothing_is_loaded(tabs, tmp_path, lm):
    lab, sent = LanguageModelLab(), []

    def send(said, buffers=()):
        sent.append([said, [base64.b64encode(each).decode() for each in buffers]])

    def hear(question):
        lab._handle_custom_msg(question, [])
        return sent.pop()

    lab.send = send
    (tmp_path / "page.html").write_text(
        f'<!doctype html><meta charset="utf-8">{lab.html()}', encoding="utf-8"
    )
    page, asked = tabs.browser.new_page(), []
    page.expose_function("toPython", hear)
    page.goto((tmp_path / "page.html").as_uri())
    page.locator("[data-mhsa-alive]").wait_for()
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(MOUNT)
    page.get_by_role("button", name="Start the model in Python").click()
    cache(page, 14)
    read(page, TWENTY[5], len(lm.tokens(TWENTY[5])))
    likely = lm.next(TWENTY[5], 10)
    assert [word for word, _ in words(page)] == drawn(likely)
    assert [p for _, p in words(page)] == pytest.approx([p for _, p in likely], abs=6e-4)
    page.get_by_role("button", name="Write one word").click()
    written = page.locator(f"{ROOT} .mhsa-story b")
    expect(written).to_have_text(lm.generate(TWENTY[5], 1), timeout=WAIT)
    switch(page, "layer 0, head 0").click()
    with lm.without([(0, 0)]):
        word, p = lm.next(TWENTY[5], 1)[0]
    bar = page.locator(f"{ROOT} .mhsa-word").first
    expect(bar).to_contain_text(f"{word}{p:.3f}with all heads on", timeout=WAIT)
    assert asked == []
    page.close()


def test_what_python_refuses_is_said_and_other_messages_are_not_heard():
    lab, sent = LanguageModelLab(), []
    lab.send = lambda *message: sent.append(message)
    lab._handle_custom_msg({"asset": "smollm2-b179c952", "part": 0}, [])
    lab._handle_custom_msg({"number": 1, "ask": "__init__", "about": []}, [])
    assert sent == []
    lab._handle_custom_msg({"number": 2, "ask": "read", "about": ["\ud83d", [], "zero"]}, [])
    ((said,),) = sent
    assert said["number"] == 2
    assert "text" in said["error"]
