"""What the tests of figures share: node for their mathematics, Chromium for their behaviour."""

import atexit
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import mhsa_book.widgets
from tests.helpers.needs import find_chromium, missing

JS = Path(mhsa_book.widgets.__file__).parent
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>A figure</title>
<style>body {{ font-family: sans-serif; margin: 8px; background: {paper}; color: #888 }}</style>
<main><h1>A figure</h1>{html}</main>"""
ANSWERS = """
import { createInterface } from "node:readline";
const plain = (_, x) => typeof x === "number" && !Number.isFinite(x) ? `${x}`
  : ArrayBuffer.isView(x) ? Array.from(x) : x;
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const [url, calls] = JSON.parse(line);
    const module = await import(url);
    answer = JSON.stringify({ results: calls.map(([f, args]) => module[f](...args)) }, plain);
  } catch (error) {
    answer = JSON.stringify({ error: `${error.stack}` });
  }
  process.stdout.write(`${answer}\\n`);
}
"""


@cache
def running_node() -> subprocess.Popen[str]:
    """One node for all calls of a process; it ends when its input does."""
    found = shutil.which("node")
    if found is None:
        missing("no node on this machine: the figures' mathematics was not run")
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [found, "--input-type=module", "-e", ANSWERS], stdin=pipe, stdout=pipe, text=True
    )
    atexit.register(process.communicate)
    return process


def node(module: str, *calls):
    """Call exported functions of one piece: ``node("shared/tensor", ("dot", [1], [2]))``.

    Every call is a function's name and its arguments, as JSON.
    """
    process = running_node()
    url = (JS / f"{module}.js").as_uri()
    question = json.dumps([url, [[name, args] for name, *args in calls]])
    process.stdin.write(f"{question}\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert "results" in answer, answer["error"]
    return answer["results"]


@pytest.fixture(scope="session")
def chromium():
    """One headless browser for all tests of a process."""
    from playwright.sync_api import sync_playwright

    found = find_chromium("the figures were not operated")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=CHROMIUM)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server of JupyterLab for all tests of a process: its address and its folder."""
    from tests.helpers.lab import serving

    with serving(tmp_path_factory.mktemp("lab")) as address_and_folder:
        yield address_and_folder


class Tabs:
    """Tabs of one browser: a new one costs more than what most tests do in it."""

    def __init__(self, browser):
        self.browser, self.free = browser, []

    def take(self, width: int, new: bool, **options):
        """Lend an empty tab, or a new one; it may have options of its own."""
        if new or not self.free:
            tab = self.browser.new_context(offline=True, **options).new_page()
        else:
            tab = self.free.pop()
        tab.set_viewport_size({"width": width, "height": 900})
        return tab

    def give_back(self, tab, new: bool):
        """Take the mouse out of the figure, and the figure out of the tab; close a new one."""
        if new:
            tab.context.close()
            return
        tab.mouse.move(0, 0)
        tab.emulate_media(media="null", color_scheme="null", reduced_motion="null")
        tab.goto("about:blank")
        self.free.append(tab)


@pytest.fixture(scope="session")
def tabs(chromium):
    return Tabs(chromium)


@pytest.fixture
def open_figure(tabs, tmp_path, request):
    """Open a figure's twin from a file, without kernel and network; the console stays clean.

    ``open_figure(figure, width=390, theme="dark")`` returns Playwright's page. The still
    picture, which a page with JavaScript does not show, is left out. What is timed, and a page
    with options of its own, has a new tab.
    """
    said, opened = [], []

    def on_console(message):
        said.append(f"{message.type}: {message.text}")

    def on_error(error):
        said.append(f"uncaught: {error}")

    def open_one(figure, *, width=1000, theme="light", **options):
        new = bool(options) or "report" in request.fixturenames
        page = tabs.take(width, new, **options)
        opened.append((page, new))
        page.on("console", on_console)
        page.on("pageerror", on_error)
        file = tmp_path / f"{len(opened)}.html"
        paper = {"light": "#fff", "dark": "#121212"}[theme]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mhsa_book.widgets.figure.png", lambda draw: "data:,")
            html = figure.html()
        file.write_text(PAGE.format(theme=theme, paper=paper, html=html), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("[data-mhsa-alive]")
        return page

    yield open_one
    for page, new in opened:
        page.remove_listener("console", on_console)
        page.remove_listener("pageerror", on_error)
        tabs.give_back(page, new)
    assert said == []


MEASURE = """async ([selector, event, keys]) => {
  const target = document.querySelector(selector);
  const times = [];
  for (let i = 0; i < 9; i += 1) {
    const start = performance.now();
    const about = { key: keys[i % keys.length], bubbles: true, cancelable: true };
    const Kind = event.startsWith("key") ? KeyboardEvent : PointerEvent;
    target.dispatchEvent(new Kind(event, about));
    document.body.getBoundingClientRect();  // layout included
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[4];
}"""


def milliseconds(page, selector: str, event: str, keys: tuple[str, ...] = ()) -> float:
    """Median of nine: from an event to the end of layout, everything the reader waits for."""
    return page.evaluate(MEASURE, [selector, event, list(keys)])


YARDSTICK = """() => {
  const times = [];
  for (let i = 0; i < 5; i += 1) {
    const start = performance.now();
    const table = document.createElement("table");
    for (let row = 0; row < 60; row += 1) {
      const cells = table.insertRow();
      for (let column = 0; column < 40; column += 1)
        cells.insertCell().textContent = `${row * column}`;
    }
    document.body.append(table);
    document.body.getBoundingClientRect();
    table.remove();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[2];
}"""
PLAIN_TABLE = 25.0
"""Milliseconds of that table where limits hold as they are written.

On two cores of a slow server, an AMD EPYC of 2026, it took 36 at best, and often 60.
"""


def allowed(page, limit: float) -> float:
    """Return a limit in milliseconds: longer where the machine is slower, or busier, now."""
    return limit * max(1.0, page.evaluate(YARDSTICK) / PLAIN_TABLE)


def table(page, name: str) -> dict[str, list[str]]:
    """Rows of a named table in the figure: the first cell, and the texts of the others."""
    cells = (
        page.get_by_role("table", name=name)
        .locator("tbody tr")
        .evaluate_all(
            "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
        )
    )
    return {first: rest for first, *rest in cells}


def said(page, words: str) -> str:
    """What the figure says about itself, once it holds these words."""
    page.wait_for_function(
        "words => document.querySelector('.mhsa-said').textContent.includes(words)", arg=words
    )
    return page.locator(".mhsa-said").text_content()


def confirm(field, text: str) -> None:
    """Type a number and press Enter: until then it does not count."""
    field.fill(text)
    field.press("Enter")


def without_advice(problem) -> str:
    """What is wrong, without the advice of the library: in a figure buttons repair it."""
    return f"{problem}".partition(";")[0] + "."


@pytest.fixture
def report(request):
    """Print a measured number at the end of the run: ``report("explorer: 12 ms a hover")``."""

    def say(line: str) -> None:
        request.node.user_properties.append(("measured", line))

    return say


def pytest_collection_modifyitems(items):
    """Mark what opens Chromium, to be left out; and what takes its time, to be run alone."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        # Messages of figures are about what a reader does, so they are met without the hook.
        if Path(__file__).parent in item.path.parents:
            item.add_marker("nohook")
        if "chromium" in fixtures:
            item.add_marker("browser")
        if {"chromium", "report"} <= set(fixtures):
            item.add_marker("timed")


def pytest_terminal_summary(terminalreporter):
    lines = [
        value
        for reports in terminalreporter.stats.values()
        for test in reports
        for name, value in getattr(test, "user_properties", [])
        if name == "measured" and getattr(test, "when", "") == "call"
    ]
    if lines:
        terminalreporter.section("measured")
        for line in sorted(lines):
            terminalreporter.write_line(line)
