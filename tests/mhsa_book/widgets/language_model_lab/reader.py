"""What a reader does with the language model in a page, and sees."""

import re

import torch

from tests.mhsa_book.widgets.conftest import node
from tests.mhsa_book.widgets.own_sentence.reader import PIXELS, drawn_maps

WAIT = 120_000
ROOT = ".mhsa-language-model-lab"
PIXELS = PIXELS.replace(".mhsa-own-sentence", ROOT)
COUNTS = f"""n => document.querySelector("{ROOT} .mhsa-large .mhsa-cells")
  .getAttribute("aria-rowcount") === `${{n}}`"""


def load(page):
    """Load the model, and wait for its first answer."""
    page.get_by_role("button", name="Load the model").click()
    page.get_by_text("The KV cache holds").wait_for(timeout=WAIT)
    return page


def read(page, text: str, tokens: int) -> None:
    """Type a prompt, and wait until its words and maps are there."""
    field = page.locator(ROOT).get_by_label("prompt", exact=True)
    field.fill(text)
    field.press("Enter")
    cache(page, tokens)
    page.wait_for_function(COUNTS, arg=tokens, timeout=WAIT)
    page.wait_for_timeout(50)


def cache(page, tokens: int) -> str:
    """What the page says of the cache, once it holds so many tokens."""
    words = f"values of {tokens} token"
    said = page.locator(f"{ROOT} .mhsa-said").get_by_text(words)
    if not said.count():
        said = page.get_by_text(re.compile(words))
    said.first.wait_for(timeout=WAIT)
    return said.first.inner_text()


def words(page) -> list[tuple[str, float]]:
    """The next words as they are drawn, and their probabilities."""
    bars = page.locator(f"{ROOT} .mhsa-word").evaluate_all(
        "bars => bars.map((bar) => [...bar.children].map((part) => part.textContent))"
    )
    return [(word, float(p)) for word, _, p, _ in bars]


def drawn(likely) -> list[str]:
    """How the page draws words, of which Python gives each with its probability."""
    return node("shared/tokens", *(("spelled", word) for word, _ in likely))


def maps(page) -> torch.Tensor:
    """The weights that the 270 small maps show."""
    return drawn_maps(page, PIXELS, 30, 9)


def switch(page, name):
    return page.get_by_role("group", name="Switches").get_by_role(
        "button", name=name, exact=True
    )
