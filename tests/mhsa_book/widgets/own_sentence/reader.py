"""What a reader does with a real model in the page, and sees."""

import re
from collections.abc import Callable
from functools import cache

import torch

from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.own_sentence import pytorch

PIXELS = """() => [...document.querySelectorAll(".mhsa-own-sentence .mhsa-heads canvas")].map(
  (one) => [...one.getContext("2d").getImageData(0, 0, one.width, one.height).data])"""
SAYS = "words => document.querySelector('.mhsa-vector').textContent.includes(words)"
COUNTS = """n => document.querySelector(".mhsa-own-sentence .mhsa-cells")
  .getAttribute("aria-rowcount") === `${n}`"""
WAIT = 60_000
NEAR = 0.01 + 0.5 / 255
"""Of a weight, and of the colour that stands for it."""


@cache
def levels() -> dict[tuple[int, int, int], float]:
    """The weight of each colour that a map may have: 256 of them, the nearest is drawn."""
    colours = node("shared/colours", *(("weightColour", i / 255) for i in range(256)))
    found: dict[tuple[int, int, int], list[int]] = {}
    for i, colour in enumerate(colours):
        red, green, blue = map(int, re.findall(r"\d+", colour))
        found.setdefault((red, green, blue), []).append(i)
    clear = {(0, 0, 0): 0.0}  # a weight that is exactly 0
    return {colour: sum(at) / len(at) / 255 for colour, at in found.items()} | clear


def load(page):
    page.get_by_role("button", name="Load the model").click()
    page.locator(".mhsa-switches").wait_for(timeout=WAIT)
    page.wait_for_function(
        "document.querySelector('.mhsa-vector .mhsa-said').textContent", timeout=WAIT
    )
    page.get_by_text("The two sentence vectors have").wait_for(timeout=WAIT)
    return page


def read(page, text: str, tokens: int, first: Callable[[], None] = lambda: None) -> None:
    """Type a text, look at something first, and wait until its maps are there."""
    field = page.locator(".mhsa-own-sentence").get_by_label("text", exact=True)
    field.fill(text)
    field.press("Enter")
    first()
    page.wait_for_function(COUNTS, arg=tokens, timeout=WAIT)
    page.wait_for_timeout(50)


def drawn_maps(page, pixels: str, *heads: int) -> torch.Tensor:
    """The weights that small maps show, each to 1/255; ``heads`` says how many, by layer."""
    found = []
    for one in page.evaluate(pixels):
        rgba = [tuple(one[at : at + 3]) for at in range(0, len(one), 4)]
        found.append([levels()[colour] for colour in rgba])
    n = round(len(found[0]) ** 0.5)
    return torch.tensor(found).reshape(*heads, n, n)


def maps(page) -> torch.Tensor:
    """The weights that the 72 small maps show."""
    return drawn_maps(page, PIXELS, 6, 12)


def turned(page, words: str) -> float:
    """The cosine that the page tells, once it says these words."""
    page.wait_for_function(SAYS, arg=words, timeout=WAIT)
    text = page.locator(".mhsa-vector .mhsa-said").inner_text()
    return float(re.search(r"own is ([−\d.]+\d)", text)[1].replace("−", "-"))


def far(page, text, off=()):
    """How far the maps on the page are from PyTorch's."""
    return (maps(page) - pytorch.run(text, off)[0]).abs().max().item()


def switch(page, name):
    return page.get_by_role("group", name="Switches").get_by_role("button", name=name)
