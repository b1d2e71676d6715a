"""What the tests of figures share: node for their mathematics, Chromium for their behaviour."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import mhsa_lib.widgets
from tests.needs import find_chromium, missing

JS = Path(mhsa_lib.widgets.__file__).parent
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>A figure</title>
<style>body {{ font-family: sans-serif; margin: 8px; background: {paper}; color: #888 }}</style>
<main><h1>A figure</h1>{html}</main>"""
CALLS = """
import * as module from {url};
const calls = JSON.parse(await new Promise((done) => {{
  let text = ""; process.stdin.on("data", (d) => text += d).on("end", () => done(text)); }}));
const plain = (_, x) => typeof x === "number" && !Number.isFinite(x) ? `${{x}}`
  : ArrayBuffer.isView(x) ? Array.from(x) : x;
process.stdout.write(JSON.stringify(calls.map(([f, args]) => module[f](...args)), plain));
"""


def node(module: str, *calls):
    """Call exported functions of one JavaScript file: ``node("tensor", ("dot", [1], [2]))``.

    One process for all calls; every call is a function's name and its arguments, as JSON.
    """
    found = shutil.which("node")
    if found is None:
        missing("no node on this machine: the figures' mathematics was not run")
    code = CALLS.format(url=json.dumps((JS / f"{module}.js").as_uri()))
    done = subprocess.run(
        [found, "--input-type=module", "-e", code],
        input=json.dumps([[name, args] for name, *args in calls]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def chromium():
    """One headless browser for all tests of a process."""
    from playwright.sync_api import sync_playwright

    found = find_chromium("the figures were not operated")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=CHROMIUM)


@pytest.fixture
def open_figure(chromium, tmp_path):
    """Open a figure's twin from a file, without kernel and network; the console stays clean.

    ``open_figure(figure, width=390, theme="dark")`` returns Playwright's page.
    """
    said, contexts = [], []

    def open_one(figure, *, width=1000, theme="light", **options):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"uncaught: {error}"))
        file = tmp_path / f"{len(contexts)}.html"
        paper = {"light": "#fff", "dark": "#121212"}[theme]
        file.write_text(PAGE.format(theme=theme, paper=paper, html=figure.html()))
        page.goto(file.as_uri())
        page.wait_for_selector("[data-mhsa-alive]")
        return page

    yield open_one
    for context in contexts:
        context.close()
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
