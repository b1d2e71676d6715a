"""What a reader of the head explorer points at, and what the page then shows."""

import torch
from playwright.sync_api import expect

from tests.mhsa_book.widgets.head_explorer.random_heads import WORDS


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
