"""The numbers that a reader sees, and which of them are lit."""

import math

from mhsa_book.widgets.stage_stepper import INPUTS
from tests.mhsa_book.widgets.stage_stepper.drawn_steppers import expected, tensor


def cell(page, *place):
    return page.locator(f'[data-place="{" ".join(map(str, place))}"]')


def step(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def said(page) -> str:
    return page.get_by_role("status").inner_text()


def lit(page, how: str) -> set[str]:
    cells = page.locator(f"td.mhsa-{how}").all()
    return {one.get_attribute("data-place") for one in cells}


NUMBER = """cells => cells.map(td => [td.dataset.place, td.textContent])"""


def on_screen(page) -> dict[str, float]:
    """Every number that can be seen, by its place."""
    signs = str.maketrans({"−": "-", "∞": "inf", "■": "1", "·": "0"})
    seen = page.locator("td[data-place]").evaluate_all(NUMBER)
    return {place: float(text.translate(signs)) for place, text in seen}


def assert_shows(page, stepper):
    wanted = expected(stepper) | {n: tensor(getattr(stepper, n)) for n in (*INPUTS, "mask")}
    seen = on_screen(page)
    assert seen
    for place, value in seen.items():
        name, *at = place.split()
        assert abs(value - wanted[name][tuple(map(int, at))]) < 5.1e-5 or value == -math.inf
