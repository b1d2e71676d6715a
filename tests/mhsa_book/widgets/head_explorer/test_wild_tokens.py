"""Any token is text, on the page and in the files that a reader saves."""

import csv
import io
import re
from xml.etree import ElementTree

import torch

from mhsa_book.widgets import HeadExplorer
from tests.mhsa_book.widgets.head_explorer.random_heads import WILD, weights
from tests.mhsa_book.widgets.head_explorer.reader import table


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
