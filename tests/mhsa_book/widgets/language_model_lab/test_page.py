"""The language model runs in a page from a file, and every other host is out of reach."""

import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import LanguageModelLab
from mhsa_book.widgets.language_model_lab import stored, weights
from tests.mhsa_book.widgets.conftest import allowed
from tests.mhsa_book.widgets.language_model_lab.prompts import FIVE
from tests.mhsa_book.widgets.language_model_lab.reader import (
    ROOT,
    WAIT,
    cache,
    drawn,
    load,
    maps,
    read,
    switch,
    words,
)

NEAR = 0.005 + 0.5 / 255
"""Of a weight, and of the colour that stands for it."""

MOST_MEMORY = 2 * 700e6
MOST_WAIT = 2 * 100
"""Bytes and milliseconds that a page may take on any machine: twice what it is made for."""

LONGER = f"""n => document.querySelector("{ROOT} .mhsa-story").textContent
  .match(/\\((\\d+) tokens\\)/)[1] >= n"""


def memory(browser):
    """Bytes of all processes that draw pages."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    lines = [
        line
        for one in processes
        if one["type"] == "renderer"
        for line in Path(f"/proc/{one['id']}/status").read_text(encoding="utf-8").splitlines()
    ]
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def longest_task(trace: bytes) -> float:
    """Milliseconds of the longest task of a page's main thread.

    Its own time: other programs of the machine do not count.
    """
    events = json.loads(trace)["traceEvents"]
    main = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    tasks = [e["tdur"] for e in events if (e["pid"], e["tid"]) in main and "tdur" in e]
    return max(tasks) / 1000


def test_it_begins_with_the_stored_results_of_one_prompt(open_figure):
    page = open_figure(LanguageModelLab())
    assert words(page)[0] == (" Mary", pytest.approx(0.923, abs=0.001))
    assert maps(page).shape == (30, 9, 14, 14)
    page.locator(".mhsa-word").nth(6).click()
    page.get_by_text(re.compile("^Logit of .* John")).wait_for()
    size = weights.about()["files"] / 1e6
    page.get_by_role("button", name=f"Load the model ({size:.0f} MB)").wait_for()


@pytest.mark.slow  # the same is asked of the built page
def test_prompts_typed_into_the_page_are_answered_as_python_does(
    open_figure, chromium, beside, lm, report
):
    page = open_figure(LanguageModelLab())
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    before = memory(chromium)
    chromium.start_tracing(page=page, categories=["toplevel"])
    start = time.perf_counter()
    load(page)
    loading = time.perf_counter() - start
    stood = longest_task(chromium.stop_tracing())
    chromium.start_tracing(page=page, categories=["toplevel"])
    times, off = [], []
    for text in (*FIVE[1:], FIVE[0]):
        typed = text.replace("\n", "")  # a field has one line
        (tokens, expected), likely = lm.attend(typed), lm.next(typed, 10)
        start = time.perf_counter()
        read(page, typed, len(tokens))
        times.append(time.perf_counter() - start)
        assert [word for word, _ in words(page)] == drawn(likely)
        for (_, p), (_, probability) in zip(words(page), likely, strict=True):
            assert p == pytest.approx(probability, abs=0.005 + 0.0005)
        off.append((maps(page) - expected).abs().max().item())
    stood = max(stood, longest_task(chromium.stop_tracing()))
    more = memory(chromium) - before
    report(
        f"language model in a page: {loading:.1f} s until it has loaded and answered, then "
        f"{', '.join(f'{each:.2f}' for each in times)} s for a prompt; 270 maps at most "
        f"{max(off):.4f} off; {more / 1e6:.0f} MB more; at most {stood:.0f} ms without answer"
    )
    assert max(off) < NEAR
    assert more < MOST_MEMORY
    assert stood < allowed(page, MOST_WAIT)
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []


def test_it_writes_on_and_says_what_the_cache_holds(open_figure, beside, lm, report):
    page = load(open_figure(LanguageModelLab()))
    written = page.locator(f"{ROOT} .mhsa-story b")
    page.get_by_role("button", name="Write one word").click()
    expect(written).to_have_text(lm.generate(FIVE[0], 1))
    assert cache(page, 15) == (
        "The KV cache holds keys and values of 15 tokens, 675 KiB: 46,080 bytes for each."
    )
    start = time.perf_counter()
    page.get_by_role("button", name="Write on", exact=True).click()
    page.wait_for_function(LONGER, arg=24, timeout=WAIT)
    took = time.perf_counter() - start
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Write one word").wait_for(timeout=WAIT)
    expect(page.get_by_role("button", name="Write one word")).to_be_enabled(timeout=WAIT)
    story = page.locator(f"{ROOT} .mhsa-story").inner_text()
    n = int(re.search(r"\((\d+) tokens\)", story)[1])
    assert written.text_content() == lm.generate(FIVE[0], n - 14)
    report(f"language model in a page: 9 words written in {took:.2f} s")
    page.get_by_role("button", name="Back to the prompt").click()
    cache(page, 14)
    expect(written).to_have_text("")


def test_heads_switched_off_change_the_words_and_all_on_brings_them_back(
    open_figure, beside, lm
):
    page = load(open_figure(LanguageModelLab()))
    six = [(23, 3), (20, 0), (18, 0), (19, 2), (17, 4), (16, 0)]
    for layer, head in six:
        switch(page, f"layer {layer}, head {head}").click()
    instead = page.get_by_label("a head that is off writes")
    for option, how in (("zeros", "zero"), ("its mean", "mean")):
        instead.select_option(option)
        with lm.without(six, how, stored.lines()):
            top = lm.next(FIVE[0], 1)[0]
        first = page.locator(f"{ROOT} .mhsa-word").first
        expect(first).to_contain_text(f"{top[0]}{top[1]:.3f}", timeout=WAIT)
    expect(first).to_contain_text("with all heads on")
    page.get_by_role("button", name="All heads on", exact=True).click()
    expect(first).to_contain_text(" Mary0.923", timeout=WAIT)
    expect(first).not_to_contain_text("with all heads on")


def test_what_is_no_word_is_said_and_loading_can_be_cancelled(open_figure, beside):
    page = open_figure(LanguageModelLab())
    page.get_by_role("button", name="Load the model").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Load the model")).to_be_enabled()
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    assert page.locator(".mhsa-loading [role=alert]").count() == 0
    load(page)
    field = page.get_by_label("prompt", exact=True)
    field.fill("")
    field.press("Enter")
    alert = page.locator(f"{ROOT} .mhsa-notice [role=alert]").first
    expect(alert).to_have_text("There is no word to read; type at least one.")
    read(page, "one two", 2)
    expect(alert).to_have_text("")
